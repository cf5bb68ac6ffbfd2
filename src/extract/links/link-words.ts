/**
 * The words of links that do something with an account. The tables hold stems for `wordFinder`, which ignores capitals and accents. Each
 * line holds related languages.
 */
export type LinkWordKind =
  | "unsubscribe"
  | "reset"
  | "renew"
  | "password"
  | "verify"
  | "confirm"
  | "account"
  | "sign_in";

const unsubscribe = `
  unsubscrib, opt out, opt-out, optout, stop receiving, remove me from, leave this list
  abbestell, abmelden., abmeldung, newsletter abbestell, austragen.
  desabonn, desinscri, se desinscrire, ne plus recevoir
  darse de baja, darme de baja, date de baja, cancelar suscripcion, cancelar la suscripcion, anular suscripcion, anular la suscripcion, dejar de recibir
  descadastr, cancelar inscrição, cancelar a inscrição, cancelar assinatura, cancelar a assinatura, cancelar subscrição, cancelar a subscrição, anular subscrição, anular a subscrição, deixar de receber
  disiscriv, annulla iscrizione, annulla l'iscrizione, cancella iscrizione, cancella l'iscrizione, cancellati, cancellazione dalla
  afmeld, uitschrijv
  wypisz, wypisa, zrezygnuj, rezygnacja z subskrypcji, anuluj subskrypcj
  odhlasit z odber, odhlasit odber, odhlaseni z odber, zrusit odber, odhlasit se z, odhlasit z
  abonelikten, aboneligi iptal, listeden cik, uyelikten ayril, aboneligimi iptal
  avprenumer, avregistrer, avsluta prenumeration, avanmal
  frameld, afmeld, afregistrer, meld dig fra
  avmeld, meld deg av, avslutt abonnement, stopp abonnement
  peru tilaus, peruuta tilaus, lopeta tilaus, peruuta uutiskirje, tilauksen perut
  leiratkoz, dezabon, otpisz, odjavi, berhenti berlangganan, berhenti melanggan
  отпис, отказаться от рассыл, отмена подпис, відпис, скасувати підпис
  διαγραφ, απεγγραφ, καταργηση εγγραφ
  -إلغاء الاشتراك, -الغاء الاشتراك, -إلغاء اشتراك, לבטל את המינוי, ביטול רישום, ביטול הרישום, ביטול מינוי, -הסרה מרשימ, -הסר מרשימ, להסרה, הסרה מהרשימ, -لغو اشتراک
  सदस्यता समाप्त, सदस्यता रद्द, सदस्यता छोड़
  hủy đăng ký, ngừng nhận, bỏ đăng ký, ngừng đăng ký
  ยกเลิกการสมัคร, ยกเลิกการรับ, เลิกรับ, เลิกติดตาม
  退订, 退訂, 取消订阅, 取消訂閱, 配信停止, 配信を停止, 購読解除, 購読を解除, 登録解除, メール停止, 수신거부, 수신 거부, 구독 취소, 구독취소, 구독 해지, 구독해지
`;

/** Phrases for setting a new password. */
const reset = `
  forgot password, forgot your password, passwort vergessen, mot de passe oublie, olvide mi contrasena, esqueci a senha, esqueci minha senha, password dimenticata
  wachtwoord vergeten, zapomniane hasło, zapomenute heslo, sifremi unuttum, glomt losenord, glemt adgangskode, glemt passord, unohtuiko salasana
  забыли пароль, забули пароль, ξεχασατε τον κωδικο
  重置密码, 重設密碼, 重设密码, 重置密碼, 找回密码, 忘记密码, 忘記密碼, 修改密码, パスワードを再設定, パスワードの再設定, パスワード再設定, パスワードをリセット, パスワードのリセット, パスワードリセット, パスワードの変更, パスワードを変更
  비밀번호 재설정, 비밀번호재설정, 비밀번호 초기화, 비밀번호 변경, 비밀번호를 재설정, 비밀번호 찾기
  รีเซ็ตรหัสผ่าน, ตั้งรหัสผ่านใหม่, เปลี่ยนรหัสผ่าน
`;

/** Words such as "reset", "change" and "new". They count only together with a word for password. */
const renew = `
  reset, change, choose, create, recover, set a new, set new, set your, new
  -setzen., zurucksetz, ruecksetz, andern., aendern., erneuer, neues, neu, festleg, wahl
  reinitialis, changer, modifier, nouveau, definir, recuper
  restablec, cambi, nueva, crear, reestablec
  redefin, repor., alter, nova, cri
  reimposta, reset, cambia, nuova, imposta, ripristin, modifica
  herstel, wijzig, opnieuw, nieuw, resetten
  zresetuj, resetuj, ustaw, zmie, nowe
  obnov, zmen, nove, nastav, vytvor
  sifirla, degistir, yenile, yeni, belirle
  aterstall, byt, ändra, nytt, valj
  nulstil, skift, ændr, ny., tilbakestill, endre, nullstill
  palaut, vaihda, nollaa, uusi
  visszaallit, modosit, uj, schimba, atur ulang, ubah
  сброс, восстанов, измен, смен, скин, віднов, змін, новый, новий
  επαναφορ, αλλαγ, νεο, δημιουργ
  -إعادة, -تغيير, -تعيين, -استعادة, איפוס, לאפס, אפס, שינוי, שחזור, -بازنشانی, -تغییر
  रीसेट, बदल, नया
  đặt lại, đổi, khôi phục, tạo
`;

const password = `
  password, passwort, kennwort, mot de passe, contrasena, clave, senha, palavra-passe, wachtwoord, hasło, hasła, heslo, hesla, parola, sifre, losenord
  adgangskode, passord, salasana, jelszo, parolei, kata sandi, lozink, passcode
  парол, κωδικ, -كلمة المرور, -كلمة السر, -سيסמ, סיסמ, -رمز عبور, -گذرواژه, पासवर्ड, mật khẩu
`;

/** Words for verifying an address or a person. */
const verify = `
  verif, authenticate, confirm it's you, confirm it was you, yes, it's me
  -verifizier, verificier, verifizieren, bestatigungslink
  weryfik, overit, overeni, overte, overen, zweryfikuj, dogrula, vahvistuslinkki
  ellenoriz, provjer, potvrdite svoj
  верифи, подтвердить почт, επαληθευ, επιβεβαιωση email
  -التحقق, -تحقق من, -توثيق, אימות, לאמת, אמת את, -تأیید ایمیل, सत्यापि, सत्यापन
  xác minh, xác thực, ยืนยันอีเมล, ยืนยันบัญชี, ยืนยันตัวตน, ยืนยันที่อยู่อีเมล
  验证, 驗證, 激活, 啟用帳, 启用账, 确认邮箱, 確認電子郵件, 确认电子邮件, 確認信箱, 认证, 認証, 検証, メールアドレスを確認, メールアドレスの確認, アカウントを確認, 本人確認, 本登録, 有効化
  인증, 이메일 확인, 메일 확인, 본인 확인, 계정 활성화, 계정 확인
`;

/** Words for confirming. They count only together with a word for an account, or if they are the only words of the link. */
const confirm = `
  confirm, activat, validat, complete, finish
  bestatig, bestaetig, aktivier, freischalt, abschliess
  confirmer, confirmez, activer, activez, valider, validez, finaliser
  confirma, activa, valida, completa, verifica
  ative, ativar, validar, conferma, attiva, convalida
  bevestig, activeer, activer, potwierdz, aktywuj, potvrd, aktivuj, aktivovat
  onayla, etkinlestir, aktiflestir, bekraft, aktivera, bekræft, bekreft, aktiver, vahvista, aktivoi
  megerosit, aktival, confirmati, activati, konfirmasi, aktifkan, aktivira
  подтверд, активир, підтверд, активу, потвърд, επιβεβαι, ενεργοποι
  -تأكيد, -تاكيد, -أكد, -تفعيل, -فعل, אישור, אשר, לאשר, הפעל, -تأیید, -تایید, -فعال
  पुष्टि, सक्रिय, xác nhận, kích hoạt, ยืนยัน, เปิดใช้งาน
  确认, 確認, 確定, 確かめ, 확인, 활성화
`;

const account = `
  email, e-mail, e-post, epost, mail., mail address, account, registration, sign up, sign-up, signup, subscription, identity, membership, device
  mailadresse, -mail-adresse, -mailadress, konto, anmeldung, registrierung, identitat
  adresse, courriel, compte, inscription, identite
  correo, cuenta, registro, suscripcion, identidad, conta., cadastro, inscrição, indirizzo, registrazione, iscrizione, identita
  -mailadres, registratie, inschrijving, aanmelding, adres, rejestracj, ucet, uctu, registrac, hesab, uyelig, kayd, eposta, e-posta
  -postadress, registrering, prenumeration, kontoen, sahkoposti, tili, rekisterointi, tilaus
  fiok, regisztraci, cont., contul, inregistrar, akun, pendaftaran, racun, nalog
  почт, аккаунт, учетн, учётн, адрес, регистрац, пошт, обліков, реєстрац, акаунт, подписк, підписк
  λογαριασμ, εγγραφ, διευθυνση, ηλεκτρονικ
  -البريد, -بريدك, -حساب, -التسجيل, -تسجيل, -الاشتراك, מייל, דוא, חשבון, הרשמה, -ایمیل
  ईमेल, खाता, खाते, tài khoản, địa chỉ, đăng ký, อีเมล, บัญชี
  邮箱, 邮件, 账号, 账户, 帳號, 帳戶, 信箱, 郵件, 注册, 註冊, 订阅, メール, アカウント, 登録, 계정, 이메일, 메일, 가입
`;

const sign_in = `
  sign in, sign-in, signin, log in, log-in, login, log me in, sign me in, log back in, sign back in, magic link, magic-link, log on, sign on
  anmelden., einloggen, anmeldelink, anmelde-link
  se connecter, connectez-vous, connexion, me connecter
  iniciar sesion, inicia sesion, inicie sesion, acceder., ingresar, entrar., iniciar sessão, inicie sessão, aceder., fazer login
  accedi, accesso., effettua l'accesso, inloggen, aanmelden., log in, zaloguj, logowanie, prihlasit se, prihlaste se, prihlaseni, prihlasit
  giris yap, oturum ac, giris., logga in, log ind, logg inn, logg pa, kirjaudu
  bejelentkez, conectare, autentificare, masuk., prijavi
  войти, вход., войдите, авториз, увійти, вхід., увійдіть, влез
  συνδεση., συνδεθ, εισοδος, εισοδο
  -تسجيل الدخول, -سجل الدخول, -الدخول, התחבר, להתחבר, כניסה, התחברות, -ورود
  लॉगिन, लॉग इन, साइन इन, đăng nhập, เข้าสู่ระบบ, ล็อกอิน, ลงชื่อเข้า
  登录, 登入, 登錄, ログイン, サインイン, 로그인
`;

export const linkWords: Readonly<Record<LinkWordKind, string>> = {
  unsubscribe,
  reset,
  renew,
  password,
  verify,
  confirm,
  account,
  sign_in,
};

/**
 * Verbs in two parts with other words between: "Melden Sie sich bei Acme an". One of the words between must be in `reader`, unless that
 * is empty.
 */
export const splitVerbs: readonly {
  kind: LinkWordKind;
  verbs: readonly string[];
  reader: readonly string[];
  ends: readonly string[];
}[] = [
  split("sign_in", "melde melden meld", "sich dich euch je u uw jezelf uzelf mich", "an aan"),
  split("sign_in", "logge loggen logg log logga", "sich dich euch je u jezelf uzelf dig deg mich", "ein in ind inn"),
  split("unsubscribe", "melde melden meld", "sich dich euch je u uw jezelf uzelf mich dig deg", "ab af fra av"),
  split("unsubscribe", "trage tragen trag schrijf", "sich dich euch je u jezelf uzelf mich", "aus uit"),
  split("unsubscribe", "bestelle bestellen bestell", "", "ab"),
  split("confirm", "schalte schalten", "", "frei"),
];

/** Words for "for". With one of them, a verb for signing in means signing up for a newsletter or an event, which is not a sign-in link. */
export const signUpWords: ReadonlySet<string> = new Set("fur fuer zu zum zur voor for til till".split(" "));

/** The words that may follow the second part of such a verb. */
export const wordsBehindSplit: ReadonlySet<string> = new Set(
  "und oder um bei en of om bij op og och med pa hos i in from von vom van voor".split(" "),
);

function split(kind: LinkWordKind, verbs: string, reader: string, ends: string) {
  return { kind, verbs: verbs.split(" "), reader: reader === "" ? [] : reader.split(" "), ends: ends.split(" ") };
}
