import { describe, expect, test } from "bun:test";
import type { LinkKind } from "../../../src/extract/links/link-kind.ts";
import { linksOf } from "../../../src/extract/links/links.ts";

const urlsOf = (text: string) => linksOf({ text, html: null }).map(({ url }) => url);
const linksIn = (html: string) => linksOf({ text: "", html });

describe("the addresses of a text", () => {
  const rows: readonly [what: string, text: string, urls: string[]][] = [
    [
      "at the end of a sentence",
      "See https://e.com/a. Or https://e.com/b, https://e.com/c!",
      ["https://e.com/a", "https://e.com/b", "https://e.com/c"],
    ],
    [
      "in brackets",
      "(https://e.com/a) [https://e.com/b] <https://e.com/c>",
      ["https://e.com/a", "https://e.com/b", "https://e.com/c"],
    ],
    [
      "with brackets of its own",
      "https://e.com/a_(b), (https://e.com/c_(d))",
      ["https://e.com/a_(b)", "https://e.com/c_(d)"],
    ],
    [
      "in quotes of other languages",
      "„https://e.com/a“ »https://e.com/b« ‚https://e.com/c‘ 「https://e.com/d」",
      ["https://e.com/a", "https://e.com/b", "https://e.com/c", "https://e.com/d"],
    ],
    [
      "before punctuation of other scripts",
      "请访问https://e.com/a。 https://e.com/b؟ https://e.com/c।",
      ["https://e.com/a", "https://e.com/b", "https://e.com/c"],
    ],
    ["with a query and a fragment", "https://e.com/?a=1&b=%20x#y", ["https://e.com/?a=1&b=%20x#y"]],
    ["as the web writes it", "HTTPS://E.com:443/ü", ["https://e.com/%C3%BC"]],
    ["once each", "https://e.com https://e.com/ https://e.com", ["https://e.com/"]],
    ["not of other kinds", "ftp://e.com mailto:a@e.com javascript:alert(1) e.com xhttps://e.com/", []],
    ["not one over 2,048 characters", `https://e.com/${"a".repeat(2050)} https://e.com/b`, ["https://e.com/b"]],
    ["not what is no address", "https:// https://[ http://?", []],
    ["not behind the window", `${" ".repeat(65_536)}https://e.com/`, []],
  ];
  test.each(rows)("are found %s", (_, text, urls) => expect(urlsOf(text)).toEqual(urls));

  test("have the words of Markdown", () => {
    const text = "Click [Verify your email](https://e.com/c/1_(x)), or <https://e.com/2>. [![](https://e.com/3)";
    expect(linksOf({ text, html: null }).map(({ url, text: words, kind }) => [url, words, kind])).toEqual([
      ["https://e.com/c/1_(x)", "Verify your email", "verify"],
      ["https://e.com/2", "", null],
      ["https://e.com/3", "", null],
    ]);
  });
});

describe("the links of HTML", () => {
  const rows: readonly [what: string, html: string, links: [url: string, text: string][]][] = [
    [
      "with their words on one line",
      "<a href='https://e.com/a'>Go\n <b>th</b>ere<br>now</a>",
      [["https://e.com/a", "Go there now"]],
    ],
    [
      "with entities decoded",
      "<a href='https://e.com/?a=1&amp;b=2&copy=3'>A&amp;B</a>",
      [["https://e.com/?a=1&b=2&copy=3", "A&B"]],
    ],
    [
      "with what stands for a picture",
      "<a href=https://e.com/><img alt='Shop now' src=x></a>",
      [["https://e.com/", "Shop now"]],
    ],
    [
      "in their order, one address once, with its first words",
      "<a href=https://e.com/b><img></a><a href=https://e.com/a>a</a><a href=https://e.com/b>b</a>",
      [
        ["https://e.com/b", "b"],
        ["https://e.com/a", "a"],
      ],
    ],
    [
      "not relative ones, and none of other kinds",
      "<a href='/x'>x</a><a href='//e.com'>x</a><a href='mailto:a@e.com'>x</a><a href='javascript:x'>x</a><a name=x>y</a>",
      [],
    ],
    [
      "not hidden ones",
      "<a href=https://e.com/a style='display:none'>a</a><div hidden><a href=https://e.com/b>b</a></div>c",
      [],
    ],
    ["not those with hidden words", "<p style='font-size:0'><a href=https://e.com/a>a</a></p>", []],
    [
      "a picture in a cell without size",
      "<td style='font-size:0'><a href=https://e.com/a><img></a>",
      [["https://e.com/a", ""]],
    ],
    [
      "words of 200 characters at most",
      `<a href=https://e.com/>${"x".repeat(300)}</a>`,
      [["https://e.com/", "x".repeat(200)]],
    ],
  ];
  test.each(rows)("are found %s", (_, html, links) => {
    expect(linksIn(html).map(({ url, text }) => [url, text] as [string, string])).toEqual(links);
  });

  test("come before the further addresses of the text", () => {
    const links = linksOf({ text: "https://e.com/a https://e.com/b", html: "<a href='https://e.com/b'>b</a>" });
    expect(links.map(({ url }) => url)).toEqual(["https://e.com/b", "https://e.com/a"]);
  });

  test("are at most 50, with the unsubscribe link among them", () => {
    const many = Array.from({ length: 80 }, (_, index) => `<a href=https://e.com/${index}>more</a>`).join("");
    const links = linksIn(`${many}<a href=https://e.com/u>Unsubscribe</a>`);
    expect(links).toHaveLength(50);
    expect(links.at(0)?.url).toBe("https://e.com/0");
    expect(links.at(-1)?.kind).toBe("unsubscribe");
  });
});

describe("the words of a link give its kind", () => {
  const rows: readonly [language: string, words: Partial<Record<LinkKind, string[]>>][] = [
    [
      "English",
      {
        verify: ["Verify email", "Confirm your email address", "Activate account", "Confirm"],
        sign_in: ["Sign in to Acme", "Log in", "Your magic link", "Log back in to Acme"],
        reset_password: ["Reset password", "Choose a new password"],
        unsubscribe: ["Unsubscribe", "Opt out of these emails"],
      },
    ],
    [
      "German",
      {
        verify: ["E-Mail-Adresse bestätigen", "Konto aktivieren", "Jetzt verifizieren"],
        sign_in: ["Jetzt anmelden", "Einloggen", "Melden Sie sich bei Acme an", "Logge dich ein, um fortzufahren"],
        reset_password: ["Passwort zurücksetzen", "Neues Kennwort festlegen"],
        unsubscribe: ["Newsletter abbestellen", "Abmelden", "Melden Sie sich vom Newsletter ab", "Tragen Sie sich aus"],
      },
    ],
    [
      "French",
      {
        verify: ["Confirmer mon adresse e-mail", "Vérifier mon compte", "Activer mon compte"],
        sign_in: ["Se connecter"],
        reset_password: ["Réinitialiser mon mot de passe"],
        unsubscribe: ["Se désabonner", "Se désinscrire"],
      },
    ],
    [
      "Spanish",
      {
        verify: ["Verificar correo", "Confirmar mi cuenta"],
        sign_in: ["Iniciar sesión"],
        reset_password: ["Restablecer contraseña"],
        unsubscribe: ["Darse de baja", "Cancelar suscripción"],
      },
    ],
    [
      "Portuguese",
      {
        verify: ["Confirmar e-mail", "Ativar conta"],
        sign_in: ["Entrar", "Iniciar sessão"],
        reset_password: ["Redefinir senha"],
        unsubscribe: ["Descadastrar-se", "Cancelar inscrição"],
      },
    ],
    [
      "Italian",
      {
        verify: ["Conferma il tuo indirizzo email", "Verifica account"],
        sign_in: ["Accedi"],
        reset_password: ["Reimposta password"],
        unsubscribe: ["Annulla l'iscrizione", "Disiscriviti"],
      },
    ],
    [
      "Dutch",
      {
        verify: ["Bevestig je e-mailadres"],
        sign_in: ["Inloggen", "Meld u aan bij Acme", "Log je in"],
        reset_password: ["Wachtwoord opnieuw instellen", "Wachtwoord herstellen"],
        unsubscribe: ["Afmelden", "Uitschrijven"],
      },
    ],
    [
      "Polish",
      {
        verify: ["Potwierdź adres e-mail", "Aktywuj konto"],
        sign_in: ["Zaloguj się"],
        reset_password: ["Zresetuj hasło"],
        unsubscribe: ["Wypisz się"],
      },
    ],
    [
      "Czech",
      {
        verify: ["Potvrdit e-mail", "Ověřit účet"],
        sign_in: ["Přihlásit se"],
        reset_password: ["Obnovit heslo"],
        unsubscribe: ["Odhlásit odběr"],
      },
    ],
    [
      "Turkish",
      {
        verify: ["E-postanı doğrula", "Hesabı onayla"],
        sign_in: ["Giriş yap"],
        reset_password: ["Şifreyi sıfırla"],
        unsubscribe: ["Abonelikten çık"],
      },
    ],
    [
      "Swedish",
      {
        verify: ["Bekräfta e-postadress", "Verifiera"],
        sign_in: ["Logga in"],
        reset_password: ["Återställ lösenord"],
        unsubscribe: ["Avprenumerera"],
      },
    ],
    [
      "Danish",
      {
        verify: ["Bekræft din e-mail"],
        sign_in: ["Log ind", "Log dig ind på Acme"],
        reset_password: ["Nulstil adgangskode"],
        unsubscribe: ["Frameld", "Afmeld nyhedsbrev"],
      },
    ],
    [
      "Norwegian",
      {
        verify: ["Bekreft e-post"],
        sign_in: ["Logg inn", "Logg deg inn"],
        reset_password: ["Tilbakestill passord"],
        unsubscribe: ["Meld deg av"],
      },
    ],
    [
      "Finnish",
      {
        verify: ["Vahvista sähköposti"],
        sign_in: ["Kirjaudu sisään"],
        reset_password: ["Vaihda salasana"],
        unsubscribe: ["Peruuta tilaus"],
      },
    ],
    [
      "Russian",
      {
        verify: ["Подтвердить почту", "Активировать аккаунт"],
        sign_in: ["Войти"],
        reset_password: ["Сбросить пароль", "Восстановить пароль"],
        unsubscribe: ["Отписаться"],
      },
    ],
    [
      "Ukrainian",
      {
        verify: ["Підтвердити пошту"],
        sign_in: ["Увійти"],
        reset_password: ["Відновити пароль"],
        unsubscribe: ["Відписатися"],
      },
    ],
    [
      "Greek",
      {
        verify: ["Επιβεβαίωση λογαριασμού", "Επαλήθευση email"],
        sign_in: ["Σύνδεση"],
        reset_password: ["Επαναφορά κωδικού"],
        unsubscribe: ["Διαγραφή"],
      },
    ],
    [
      "Arabic",
      {
        verify: ["تأكيد البريد الإلكتروني", "تفعيل الحساب"],
        sign_in: ["تسجيل الدخول"],
        reset_password: ["إعادة تعيين كلمة المرور"],
        unsubscribe: ["إلغاء الاشتراك"],
      },
    ],
    [
      "Hebrew",
      {
        verify: ["אימות כתובת מייל"],
        sign_in: ["כניסה לחשבון"],
        reset_password: ["איפוס סיסמה"],
        unsubscribe: ["הסרה מרשימת תפוצה"],
      },
    ],
    [
      "Hindi",
      {
        verify: ["ईमेल सत्यापित करें"],
        sign_in: ["लॉग इन करें"],
        reset_password: ["पासवर्ड रीसेट करें"],
        unsubscribe: ["सदस्यता समाप्त करें"],
      },
    ],
    [
      "Vietnamese",
      {
        verify: ["Xác minh email", "Kích hoạt tài khoản"],
        sign_in: ["Đăng nhập"],
        reset_password: ["Đặt lại mật khẩu"],
        unsubscribe: ["Hủy đăng ký"],
      },
    ],
    [
      "Thai",
      {
        verify: ["ยืนยันอีเมล"],
        sign_in: ["เข้าสู่ระบบ"],
        reset_password: ["รีเซ็ตรหัสผ่าน"],
        unsubscribe: ["ยกเลิกการรับข่าวสาร"],
      },
    ],
    [
      "Chinese",
      {
        verify: ["验证邮箱", "激活账号", "確認電子郵件"],
        sign_in: ["登录", "登入"],
        reset_password: ["重置密码", "重設密碼"],
        unsubscribe: ["退订", "取消訂閱"],
      },
    ],
    [
      "Japanese",
      {
        verify: ["メールアドレスを確認する", "認証する"],
        sign_in: ["ログイン"],
        reset_password: ["パスワードを再設定する"],
        unsubscribe: ["配信停止はこちら"],
      },
    ],
    [
      "Korean",
      {
        verify: ["이메일 인증하기"],
        sign_in: ["로그인"],
        reset_password: ["비밀번호 재설정"],
        unsubscribe: ["수신거부"],
      },
    ],
  ];
  test.each(rows)("in %s", (_, words) => {
    for (const [kind, all] of Object.entries(words)) {
      for (const text of all) {
        const [link] = linksIn(`<a href="https://click.example.com/x">${text}</a>`);
        expect({ text, kind: link?.kind ?? "none" }).toEqual({ text, kind });
      }
    }
  });

  test.each([
    "View order",
    "Confirm booking",
    "Track your parcel",
    "Download invoice",
    "Read more",
    "Confirm attendance",
    "Contact support",
    "Learn about passwords",
    "Rechnung ansehen",
    "Voir la commande",
    "Ver pedido",
    "查看订单",
    "注文を見る",
    "Complete your purchase",
    "Melden Sie sich für unser Webinar an",
    "Meld je aan voor de nieuwsbrief",
    "Melden Sie Fehler an uns",
    "Bestellen Sie jetzt ab 20 Euro",
    "Log your hours in Acme",
  ])("and nothing is guessed of %s", (text) => {
    expect(linksIn(`<a href="https://e.com/x">${text}</a>`)[0]?.kind).toBeNull();
  });
});

describe("the path of a link without such words gives its kind", () => {
  test.each([
    ["https://e.com/verify-email?token=1", "verify"],
    ["https://e.com/users/confirmation?t=1", "verify"],
    ["https://e.com/#/verifyEmail/abc", "verify"],
    ["https://e.com/auth/magic-link/abc", "sign_in"],
    ["https://e.com/login?x=1", "sign_in"],
    ["https://e.com/sign-in/abc", "sign_in"],
    ["https://e.com/users/password/reset", "reset_password"],
    ["https://e.com/reset-password/abc", "reset_password"],
    ["https://e.com/u/unsubscribe/1", "unsubscribe"],
    ["https://e.com/opt-out", "unsubscribe"],
    ["https://e.com/blog/how-we-verify-all-our-sellers", null],
    ["https://e.com/booking/confirm", null],
    ["https://verify.e.com/", null],
    ["https://e.com/?verify=1", null],
  ] as const)("%s", (url, kind) => expect(linksOf({ text: url, html: null })[0]?.kind).toBe(kind));

  test("words count first", () => {
    expect(linksIn("<a href=https://e.com/login>Unsubscribe</a>")[0]?.kind).toBe("unsubscribe");
  });
});

describe("a link is misleading", () => {
  test.each([
    ["whose words are another host", "https://evil.example/", "bank.example.com"],
    ["whose words are another address", "https://evil.example/", "https://bank.com/login"],
    ["whose words have another address", "https://evil.example/", "Go to https://bank.com now"],
    ["with user information", "https://bank.com@evil.example/", "x"],
    ["to an IP address", "http://192.0.2.7/x", "x"],
    ["to an IP address in one number", "http://3221225991/x", "x"],
    ["to an IP address of six", "http://[2001:db8::1]/", "x"],
    ["to a host that mixes scripts", "https://pаypal.com/", "x"],
    ["to one that hides it", "https://xn--pypal-4ve.com/", "x"],
    ["with invisible signs in its words", "https://evil.example/", "bank\u200b.com"],
    ["with a host of another script as its words", "https://bank.com/", "bаnk.com"],
  ])("%s", (_, url, words) => expect(linksIn(`<a href="${url}">${words}</a>`)[0]?.misleading).toBe(true));

  test.each([
    ["whose words are its host", "https://www.bank.com/x", "bank.com"],
    ["whose words are its host above", "https://click.bank.com/x", "https://bank.com"],
    ["whose words are its host in another case", "https://bücher.example/", "BÜCHER.example"],
    ["whose words are a name", "https://nodejs.org/", "Node.js"],
    ["whose words are a file", "https://e.com/x", "report.pdf"],
    ["whose words are a mail address", "https://e.com/x", "me@bank.com"],
    ["whose words are words", "https://e.com/x", "Version 2.0 is out."],
    ["in one script", "https://пример.example/", "x"],
    ["in scripts that one language writes", "https://日本のニュース.example/", "x"],
  ])("but not one %s", (_, url, words) => {
    expect(linksIn(`<a href="${url}">${words}</a>`)[0]?.misleading).toBe(false);
  });
});
