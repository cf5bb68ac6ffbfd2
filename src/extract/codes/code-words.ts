/**
 * The words for a code in about fifty languages. The tables hold stems for `wordFinder`, which ignores capitals and accents. Each line
 * holds related languages.
 */
export type CodeWordKind = "none" | "code" | "needy" | "sure" | "purpose" | "handover" | "owner" | "number";

/**
 * Words for a code. They do not count beside a word of `owner`. Without a word of `purpose` beside them, they do not count right after a
 * word of `number` either, and `bareCodes` in `code-cues.ts` judges them.
 */
const code = `
  code., codes., -code., -codes., pincode, -kode, -codigo, -codice, codici., codul, coduri, codi., codis., -kod, -koodi, -kood, kodas, kodo.,
  kods., koda., -kode., -kóð, pin., -pin., pin-code, passcode, -tan., token., tokens., msimbo
  -код, -κωδικ, կոդ, კოდ
  -رمز, -كود, -کد, -كد, کوڈ, پین., -קוד
  कोड, पिन., কোড, કોડ, ਕੋਡ, కోడ్, ಕೋಡ್, കോഡ്, குறியீட, කේතය, කේත, ኮድ
  รหัส, ລະຫັດ, កូដ, ကုဒ်
  代码, 代碼, コード, 코드, 核验码, 核驗碼
`;

/** Words that mean a code only beside a word of `purpose`. Alone they mean a password, a number, or something else in another language. */
const needy = `
  cod., -codes, mã, mot de passe, contraseña, clave, senha, palavra-passe, wachtwoord, parola, şifre, -lösenord, adgangskode,
  -passord, salasana, hasło, heslo, jelszó, lozinka, geslo, mật khẩu, sandi, kata laluan, nambari, pass code, key., cijfercode, digits, -ziffer, chiffres, dígitos, cifre., cijfers, cyfr, číslic, číslice, rakam, -siffr, siffer., -ciffer, -cifre, numeroa., számjegy, cifre, chữ số, angka, tarakimu
  парол, цифр, ψηφί, κλειδί, -أرقام, -ارقام, -ספרות, अंक, -كلمة المرور, -كلمة السر, -סיסמ, पासवर्ड, পাসওয়ার্ড, கடவுச்சொல், รหัสผ่าน, ตัวเลข, -رقم
  密码, 密碼, 数字, 數字, 桁, パスワード, 番号, 숫자, 비밀번호, 번호
`;

/** Words that always mean a code. */
const sure = `
  hasło sms, kod sms, one-time password, one time password, onetime password, single-use password, dynamic password, temporary password, temp password, temporäres passwort, temporäres kennwort, vorläufiges passwort, initialpasswort, kata sandi sekali pakai, รหัส otp, รหัส pin, otp., otps., -otp., totp., mtan, smstan, einmal-passwort, einmal-kennwort, password monouso, codice usa e getta, contrôle sms, código pin, code pin, codice pin, kod pin, kód pin, pin-kod, pinkod, pin kod, pin-koodi, pinkoodi, pin-kód, pinkód, cod pin, cod unic, mã pin, mã otp, kode otp, kode pin, clave dinámica, clave temporal, token de acesso, engangsadgangskode, engangskode, einmalpasswort, einmalkennwort, einmalcode, passcodes., one-time pin, engangskod
  пин-код, пинкод, пін-код, пінкод, رمز پویا, -الرقم السري, -الرقم السرّي
  ओटीपी, ওটিপি, ఓటిపి, ஓடிபி, ഒടിപി, ओटिपी
  验证码, 驗證碼, 校验码, 校驗碼, 动态码, 動態碼, 动态密码, 動態密碼, 验证代码, 安全码, 安全碼, 安全代码, 安全代碼, 确认码, 確認碼, 识别码, 認證碼, 认证码, 激活码, 一次性密码, 一次性密碼, 登录码, 登入碼, 授权码, 授權碼, 访问码, 存取碼, 恢复码, 復原碼, 啟用碼, 启用码, 校验代码, 取件码, 取件碼, 取货码, 取貨碼, 提货码, 提貨碼, 领取码, 收货码, 口令, 密保, pin码, pin碼
  認証コード, 確認コード, 認証番号, 確認番号, 暗証番号, ワンタイムパスワード, セキュリティコード, ログインコード, ワンタイムコード, ワンタイムキー, パスコード, アクセスコード, 有効化コード, アクティベーションコード, 復旧コード, リカバリーコード, pinコード, 承認番号, 承認コード, 検証コード, 照合番号
  인증번호, 인증코드, 인증 번호, 인증 코드, 확인 코드, 확인코드, 보안 코드, 보안코드, 보안번호, pin번호, 핀번호, 접근 코드, 접속 코드, 활성화 코드, 복구 코드, 로그인 코드, 일회용 코드, 일회용 비밀번호, 승인번호
  -رقم التحقق
`;

/** Words for the purposes of a code, such as "verify" and "sign in". */
const purpose = `
  verif, confirm, secur, login, log in, log-in, logging in, sign in, sign-in, signin, signing in, sign up, sign-up, access, authent, authori, activat,
  registr, recover, restor, reset, validat, one-time, one time, onetime, single-use, single use, temporary, 2fa, two-factor, two-step, 2-step, mfa, approv,
  pairing, unlock, identity, guard, otp, signing, signature, magic, secret, confidential, logs you in, log you in, signs you in, sign you in, log into, sign into, logging into
  -bestätig, bestaetig, -prüf, -verifizier, -sicherheit, -anmeld, -zugang, -einmal, -aktivier, -login, -freigab, -authentifizier, -überweisung, -freischalt, -signatur, -unterschrift, -geheim, -koppl, -registrier, -entsperr, -identität, -zurücksetz, -vorläufig, -wiederherstell
  vérif, confirm, sécur, récupér, réinitialis, inscription, connex, connect, accès, accéd, usage unique, authentif, validation, temporaire, provisoire, signature, secret, confidentiel, déverrouill, identif, activation
  seguridad, acceso, acceder, iniciar, inicio de sesión, ingres, un solo uso, único, autentic, verific, confirm, validación, activación, recupera, restablec, registro, temporal, firma, secret, confidencial, desbloque
  segurança, acesso, uso único, entrar, transação, ativação, validação, iniciar sessão, recupera, redefin, verific, confirm, autentic, cadastr, temporár, assinatura, secret, confidencial, desbloque, login
  sicurezza, verific, recuper, ripristin, registrazione, identific, firma, segret, riservat, provvisor, acced, accesso, monouso, temporane, autenticazione, conferma, attivazione, sblocco
  -verificatie, -controle, -kontroll, -kontrol, контрольн, -bevestig, -inlog, -beveilig, -eenmalig, -toegang, -activer, -activatie, -aanmeld, -herstel, -authenticat, -registrat, -tijdelijk, -ontgrendel, -onderteken, -identific, -geheim, logt., log je in
  weryfik, potwierdz, logowa, jednorazow, bezpieczeń, autoryz, aktywac, dostępu, przelew, uwierzyteln, zalogowa, odzysk, resetowan, rejestrac, tymczasow, odblok, podpis, tożsamo, tajn, poufn
  ověř, potvrz, přihlá, jednoráz, bezpečnost, autoriz, aktivač, overov, potvrd, prihl, bezpečnostn, aktivac, prístup, přístup, obnov, autenti, autentifik, registrac, registrác, dočasn, odblok, odemk, podpis, podpís, totožno, tajn
  doğrulama, onay, giriş, güvenlik, tek kullanım, aktivasyon, etkinleştir, təsdiq, tasdiqla, kirish, kullanımlık, erişim, kurtarma, sıfırla, yenile, kimlik, kayıt, üyelik, geçici, imza, oturum, gizli, kilit
  -verifiering, -bekräft, -logga in, -inlogg, -säkerhet, -engång, -bekræft, -bekreft, -logge, -log på, -sikkerhed, -sikkerhet, -engang, -pålogg, -innlogg, -tilgang, -staðfest, -öryggis, -autentiser, -autentisering, -godkend, -aktivering, -åtkomst, -adgang, -återställ, -gjenopprett, -gendan, -nulstil, -tilbakestill, -registrer, -midlertidig, -tillfällig, -signer, -underskr, -identif, -låsa upp, -verifika, -hemlig, -hemmelig
  vahvist, varmen, kertakäyt, kirjaut, turva, todenn, tunnistau, pääsy, aktivoi, palautu, palauta, nollau, rekisteröi, tilapäi, väliaikai, allekirjoit, avaus, salai
  подтвержд, проверочн, вход, входа, одноразов, безопасн, авториз, регистрац, доступ, активац, восстанов, підтвердж, вхід, входу, верифіка, верифика, безпек, потвърж, потврд, сигурност, пацвярдж, растау, кіру, баталгаажуул, перевірк, проверк, аутентифик, автентиф, идентифик, ідентифік, відновл, сброс, скидан, реєстрац, временн, тимчасов, разблок, розблок, подписан, підпис, секретн, конфиденц
  επαλήθευσ, επιβεβαίωσ, ασφαλ, σύνδεσ, συνδεθ, μίας χρήσης, μιας χρήσης, πρόσβασ, ταυτοποίησ, ενεργοποίησ, εισόδου, είσοδο, ανάκτησ, επαναφορ, ελέγχου, εγγραφ, προσωριν, αυθεντικοπο, υπογραφ, ξεκλείδ, μυστικ
  ellenőrz, megerősít, belép, bejelentkez, biztonsági, egyszer használ, aktivál, hitelesít, azonosít, hozzáfér, helyreállít, visszaállít, regisztrác, ideiglenes, aláír, feloldó, titkos
  verific, acces, activ, recuper, reset, înregistr, temporar, semnătur, semnare, deblocare, secret, autentificar, securit, conectare, unică folosință, activare, confirmare, autentificare
  potvr, potrdit, prijav, jednokrat, sigurnos, enkrat, varnost, aktivacij, pristup, dostop, pirmkart, patvirtin, prisijung, vienkartin, saugos, apstiprin, pieteik, vienreiz, drošīb, kinnitus, sisselog, ühekord, konfirm, verifik
  verificació, d'un sol ús, egiaztap, gwirio, dilysu
  xác minh, xác nhận, xác thực, đăng nhập, bảo mật, kích hoạt, đăng ký, otp, một lần, giao dịch, truy cập, khôi phục, đặt lại, tạm thời, ký số, mở khóa, bí mật
  verifikasi, masuk., akses, autentikasi, otentikasi, otorisasi, pemulihan, reset, daftar, sementara, tanda tangan, pendaftaran, rahasia, keamanan, konfirmasi, aktivasi, sekali pakai, pengesahan, log masuk, keselamatan, uthibitisho, uthibitish, kuthibitisha, -pagpapatunay
  -تحقق, -تأكيد, -دخول, -مرة واحدة, -أمان, -تفعيل, -تسجيل, -تایید, -ورود, -امنیتی, -یکبار, -یکبار مصرف, -فعال, -فعالسازی, تصدیق, -مرة, -تأیید, -وصول, -مصادقة, -استرداد, -استعادة, -مؤقت, -إعادة تعيين, -هوية, -احراز هویت, -بازیابی, -دسترسی, -موقت, -توقيع, -امضا, -سري, -مخفی, -ثبت نام, -فعال‌سازی
  -אימות, -כניסה, -חד פעמי, -חד-פעמי, -חד־פעמי, -אישור, -אבטחה, -התחברות, -הפעלה, -זיהוי, -גישה, -שחזור, -איפוס, -הרשמה, -חתימה, -סודי, -זמני, -אימות
  सत्यापन, लॉगिन, पुष्टि, सुरक्षा, प्रमाणीकरण, एक्सेस, सक्रियण, एक्टिवेशन, वन-टाइम, वन टाइम, रिकवरी, रीसेट, साइन इन, अस्थायी, हस्ताक्षर, पहचान, गुप्त, वेरिफिकेशन, যাচাই, লগইন, নিশ্চিত, சரிபார்ப்பு, உள்நுழை, ధృవీకరణ, ಪರಿಶೀಲನೆ, സ്ഥിരീകരണ, પુષ્ટિ, પડતાળ, ચકાસણી, ਪੁਸ਼ਟੀ, ਤਸਦੀਕ, तपासणी, प्रमाणिकरण, සත්‍යාපන, የማረጋገጫ
  ยืนยัน, เข้าสู่ระบบ, ครั้งเดียว, ความปลอดภัย, เข้าใช้งาน, เปิดใช้งาน, ตรวจสอบ, กู้คืน, รีเซ็ต, ลงนาม, ชั่วคราว, ลับ, ลงทะเบียน, ຢືນຢັນ, ផ្ទៀងផ្ទាត់, အတည်ပြု
  验证, 驗證, 登录, 登入, 登錄, 安全, 一次性, 动态, 動態, 校验, 确认, 確認, 激活, 授权, 授權, 访问, 存取, 恢复, 復原, 重置, 重設, 注册, 註冊, 临时, 臨時, 签署, 簽署, 启用, 啟用, 身份, 身分, 認証, ログイン, サインイン, アクセス, 有効化, 復旧, 再設定, リセット, 登録, 署名, 仮, 秘密, セキュリティ, ワンタイム, 本人, 인증, 확인, 보안, 로그인, 일회용, 가입, 승인, 접근, 접속, 활성화, 복구, 재설정, 임시, 서명, 등록, 비밀
  დამადასტურებ, დადასტურებ, ვერიფიკაცი, შესვლ, հաստատ, մուտք
`;

/**
 * Words for handing over goods against a code. They count only beside a word for a code, since shops and carriers mention deliveries in
 * every mail.
 */
const handover = `
  pickup, pick-up, pick up, collection, delivery, handover, -abhol, -zustell, -übergabe, retrait, livraison, remise en main, recogida, entrega, retiro, recolha, retirada, levantamento, ritiro, consegna
  -afhaal, -bezorg, -hämt, -utlämn, -leverans, -hent, -afhent, -udlever, -utlever, nouto, luovutus, odbior, doręcz, vyzvedn, výdej, doruč, vyzdvih, teslim, átvétel, kézbesít, ridicare, livrare, predare
  получени, выдач, отриман, видач, παραλαβ, παράδοσ, -استلام, -تسليم, -تحویل, -איסוף, -מסירה, पिकअप, डिलीवरी, nhận hàng, giao hàng, pengambilan, pengiriman
  รับพัสดุ, รับสินค้า, 受取, 受け取り, 픽업, 수령
`;

/** Words that make a word for a code another kind of code: "promo code", "postal code". */
const owner = `
  -promo, discount, purchase, store., shop., site., staff, employee, category, resolution, closure, disposition, cause, decline, denial, procedure, billing, department, dealer, supplier, vendor, merchant, shipper, fare, coupon, voucher, gift, referral, invite code, reward, postal., zip, area., anti-phishing, antiphishing, anti phishing, naf., naics, ifsc, affiliate, partner., friend, creator, tracking code, loyalty, campaign, prize, win., winner, winning, raffle, stock., ticker, country, error, status, qr., -bar., -barcode, -barcode, source, sort code, dress, of conduct,
  exit, product, tax., item, sku, short code, course, class., civil, penal, criminal, u.s. code, building, response, return, reason, offer, savings, % off, swift, branch, routing, dialling, dialing,
  review, reviewer, reviews, snippet, base., freeze, block., editor, sample, open., clean, low., no., morse, colour, color, currency, airport, station, team., batch, lot., model, part., license, licence, http, diagnostic, event., order code, customer code, tracking, booking, reservation, hs code, ean, isbn, vin., cheat, redeem, redemption
  -gutschein, -rabatt, -aktions, -fehler, -verhaltens, -post, -länder, -quell, -strich, -einlade, -empfehlungs, -bankleitzahl, -kleider, -status, -artikel, -farb, -vorteil, -gewinn, -prämien, -spende
  promotionnel, réduction, remise, parrainage, cadeau, postal, erreur, conduite, barres, source, avantage, vestimentaire, gagnant, du travail, ape., insee, anti-hameçonnage, coupon, offre, bon d'achat, invitation, suivi, produit, pays., civil, pénal, article, fidélité
  descuento, promocional, cupón, regalo, vale., error, conducta, barras, fuente, referido, reserva, seguimiento, rastreo, producto, invitación, país, swift, vestimenta, cnae, antiphishing, anti-phishing, premio, ganador, afiliado
  desconto, cupom, cupão, oferta, erro, barras, rastre, indicação, presente, convite, vale-presente, prêmio, cnae, produto, conduta, fonte
  sconto, promozionale, buono, regalo, errore, fiscale, comportamento, condotta, barre, prenotazione, invito, prodotto, sorgente, ateco, coupon, premio, vincit, amico, fedeltà, tracciamento, tributo, avviamento
  -korting, actie, -kado, -cadeau, -fout, -gedrags, -streepjes, -bron, landcode, -waardebon, -vriend, -verwijz, -coupon, -prijs, -winnaar, -promotie, -product, -status, bankcode
  rabatow, zniżkow, promocyj, pocztow, błędu, kreskow, podarunk, polecając, polecen, zaproszen, produkt, kraju, wygran, nagrod, bon., pkd., źródłow, postępowania, kupon, swift
  slevov, dárkov, čárov, poštov, chyb, sleva, kupon, kupón, promo, dopor, odpor, pozván, výher, čiarov, produkt, zdroj, poukaz, zľavov, darčekov, poštové
  indirim, promosyon, kupon, hediye, posta, hata, kampanya, davet, takip, alan kodu, ülke, ürün, kaynak, ödül, çekiliş, arkadaş, referans, barkod, endirim
  -rabat, -post, -fel., -felk, -felkod, -streck, -streg, -strek, -uppförande, -presentkort, -kampanj, -kampagne, -kampanje, -tilbud,  -käll, -kilde, -fejl, -feil, -verve, -värv, -kupong, -henvis, -vinst, -vinder, -vinner, -gevinst, -inbjud, -invit, -produkt, -lands
  -alennus, -tarjous, -virhe, -posti, -lahja, -viiva, -kuponki, -kampanja, -voitto, -palkinto, -kutsu, -suosittelu, -tuote, -seuranta, -maa.
  промо, скидк, купон, ошибк, почтов, индекс, подароч, штрих, исходн, дисциплин, артикул, страны, знижк, поштов, помилк, подарунк, отстъпк, попуст, грешк, товара, приглашен, реферал, рефер, выигр, виграш, приз, друга, партнер, продукт, сертифик, товар, країни, запрошен, оквэд, кпп
  έκπτωσ, προσφορ, ταχυδρομ, σφάλμ, κουπόν, δεοντολογ, προϊόντος, δωροεπιταγ, δωροκάρτ, πρόσκλησ, σύστασ, γραμμωτ, δώρο, κλήρωσ, χώρας
  kedvezmény, kupon, irányító, vonal, hiba, ajándék, ajánló, meghív, nyeremény, termék, ország, promóc, promoț, promot, reducere, poștal, eroare, bare., cadou, premiu, recomand, invit, produs, țăr, urmăr, voucher, popust, poštn, napak, grešk, darovn, nuolaid, pašto, klaid, atlaid, pasta, kļūd, soodus, posti, viga, descompte
  giảm giá, khuyến mãi, khuyến mại, ưu đãi, đơn hàng, vận đơn, bưu, lỗi, giới thiệu, sản phẩm, số thuế, vạch, vùng, quà tặng, đặt chỗ, khách hàng, tham chiếu, phiếu, voucher, trúng thưởng, mã mời, lời mời, quốc gia
  promo, diskon, kupon, pos., potongan, undangan, referal, hadiah, undian, batang, booking, negara, kesalahan, poskod, diskaun, baucar, rujukan, produk, punguzo
  -خصم, -بريد, -قسيمة, -ترويج, -هدية, -خطأ, -دعوة, -استجابة, -شريط, -تخفیف, -پستی, -هدیه, -خطا, -معرف, -المنتج, -الدولة, -ملی, -پیگیری, -رهگیری, -تبلیغ, -کوپن, -معرفی, -محصول, -کشور, رعایت, -إحالة, -تصيد, -جائزة, -جایزه
  -מוצר, -קופון, -הנחה, -הטבה, -שגיאה, -מתנה, -דואר, -לבוש, -מבצע, -הזמנ, -הפניה, -פרס, -זכייה, -מדינה, -ברקוד
  प्रोमो, कूपन, डिस्काउंट, छूट, पिन कोड, त्रुटि, रेफरल, गिफ्ट, उपहार, बारकोड, इनाम, एरर, देश, उत्पाद, रेफ़रल, গিফট, প্রোমো, ছাড়, কুপন, পোস্ট, தள்ளுபடி, கூப்பன்
  ส่วนลด, ไปรษณีย์, โปรโมชั่น, คูปอง, สินค้า, ข้อผิดพลาด, พัสดุ, ประเทศ, ประจำตัว, ของขวัญ, สมาชิก, แนะนำเพื่อน, เชิญ, รางวัล, บาร์โค้ด
  优惠, 優惠, 折扣, 邮政, 郵政, 郵遞, 邮编, 错误, 錯誤, 推荐, 推薦, 邀请, 邀請, 兑换, 兌換, 礼品, 禮品, 抽奖, 抽獎, 中奖, 中獎, 股票, 证券, 證券, 机场, 機場, 团购, 反钓鱼, 反釣魚, 防钓鱼, 源代, 条形, 條碼, 二维, 商品, 产品, 国家, 统一, 機構
  クーポン, 割引, プロモ, 郵便, エラー, 招待, 紹介, ギフト, 商品, バー, ソース, ドレス, 銀行, 支店, 証券, 空港, 当選, 友達, 友だち, フィッシング, キャンペーン, ＱＲ
  쿠폰, 할인, 프로모션, 우편, 오류, 추천, 기프트, 상품, 바코드, 소스, 초대, 당첨, 종목, 공항, 친구, 국가, 은행, 피싱
  ფასდაკლებ, პრომო, զեղչ
`;

/** Names of numbers that are not codes, and of things with such a number: "order", "invoice", "room". */
const number = `
  order, invoice, ticket, case., reference, ref., tracking, account, acct, a/c, customer, client id, booking, flight, transaction, txn, ending in, ending, ending with, iban, bic., room, suite, extension, ext., phone, tel., mobile, call., fax,
  number, no., nr., id., ids., confirmation number, receipt, policy, member, membership, employee, patient, student id, claim, parcel, package, shipment, po., p.o., rma, sku, item, serial, registration number, rfc., iso., ieee, cve., issn, registered, licence, license, plate, seat, gate, section, row., floor, version, build, job, issue, pr., pull request, line., page., chapter,
  hotline, helpline, whatsapp, sms to, fax., vat, tin., ssn, zip, postcode, p.o. box, box, building, street, survey, topic, reservation, meeting id, conference id, subscription, contract, card., article, apt, apartment, unit, ip., port, visa, mastercard, amex, year, since, volume, agent, terminal, device id, user., uid, pid, batch, lot.
  -bestellnummer, bestellung, -rechnung, -nummer, -nr., kundennummer, -auftrag, -sendung, -vorgang, aktenzeichen, buchung, telefon, konto, karte, zimmer, flug, zug, plz, postleitzahl, hausnummer, -ticket, durchwahl, hotline, endziffern, filiale, seite, kunden-nr, steuernummer, ust-idnr, hrb
  commande, facture, dossier, référence, réf., suivi, numéro, n°, nº, client, compte, carte, réservation, vol., tél, téléphone, colis, siret, siren, tva, terminant par, chambre, poste., train, voiture, contrat, ticket, transaction
  pedido, factura, fatura, número, núm., cuenta, cliente, reserva, vuelo, voo, tarjeta, teléfono, tel., línea, guía, referencia, referência, expediente, terminación, terminada en, final, habitación, quarto, autorización, folio, cif, nif, cnpj, cpf, cep, conta, cartão, telefone, protocolo, encomenda, boleto, caso, chamado, recibo, contrato, extensión, ramal, ligue, llame
  ordine, fattura, numero, n., conto., carta., prenotazione, volo, treno, telefono, cellulare, pratica, spedizione, cap., partita iva, p. iva, camera, ricevuta, contratto, interno
  -bestelnummer, bestelling, factuur, -nummer, klantnummer, rekening, pas., boeking, vlucht, telefoon, dossier, zending, pakket, kvk, btw, kamer, zaak, bel., kenmerk, -bestel
  zamówieni, faktur, numer, nr, konto, konta, karty, rezerwacj, lot., przesyłk, paczk, zgłoszeni, telefon, tel., nip, regon, klient, pokój, infolini
  objednávk, faktura, číslo, č., účet, účtu, karta, rezervac, zásilk, telefon, ičo, dič, psč, symbol, zákazn, případ, pokoj
  sipariş, fatura, numara, no., hesap, müşteri, rezervasyon, uçuş, kart, takip, telefon, tel., işlem, talep, oda., kargo, vergi, biten, referans
  order, -order., -ordern, -orderid, -faktura, -nummer, -kund, -konto, -kort, -bokning, -flyg, -ärende, -telefon, org.nr, -ordre, -kunde, sag., sagsn, sak., saken, saksn, -booking, -bestilling, cvr, -saksnummer, -pakke, -sporing, -värelse, -rum., -kid., -fakturanummer, -beställning, ring.
  tilau, lasku, numero, -numero, tili, asiakas, varau, lento, puhelin, y-tunnus, viite, kortti, huone, lähety, -tunnus
  заказ, счёт, счет, номер, №, квитанц, обращени, заявк, трек, отправлени, карт, рейс, телефон, тел., инн, кпп, огрн, договор, бронировани, клиент, индекс, билет, транзакци, замовленн, рахун, квиток, єдрпоу, поръчк, фактур, сметк, наруџб, поруџб, рачун, тапсырыс, линия, лінія
  παραγγελί, τιμολόγι, αριθμ, λογαριασμ, κράτησ, πτήσ, κάρτ, τηλ, πελάτ, αφμ, τ.κ., αποστολ, υπόθεσ, εισιτήρι, δωμάτι, συναλλαγ
  rendelés, számla, szám, -szám, ügyfél, foglalás, telefon, kártya, bankkártya, -azonosító, adószám, ügyszám, szoba, csomag
  comand, factur, număr, nr, cont., contul, client, rezervar, zbor, card., telefon, cui, colet, bilet, narudžb, račun, broj, rezervacij, kartic, telefon, oib, naročil, številk, paket, užsakym, sąskait, numeri, pasūtījum, rēķin, tellimu, arve, number, comanda, pöntun, reikning
  đơn hàng, hóa đơn, hoá đơn, số tài khoản, mã số, mã đơn, mã vận, mã giao dịch, mã khách, tài khoản, đặt chỗ, chuyến bay, điện thoại, sđt, tổng đài, hotline, phòng, mã tham chiếu
  pesanan, faktur, tagihan, nomor, no., nombor, rekening, akaun, pelanggan, resi, penerbangan, kartu, kad., telepon, telefon, hubungi, pemesanan, tempahan, invois, kamar, npwp, oda., agizo, akaunti, simu
  -طلب, -فاتورة, -رقم الطلب, -حساب, -بطاقة, -حجز, -رحلة, -هاتف, -شحنة, -مرجع, -تذكرة, -معاملة, -عميل, -غرفة, -سفارش, -شماره, -فاکتور, -پرواز, -تلفن, -مشتری, آرڈر, نمبر
  -הזמנה, -חשבונית, -מספר, -חשבון, -כרטיס, -טיסה, -טלפון, -משלוח, -פנייה, -לקוח, -אסמכתא, -ח.פ., -מיקוד, -עוסק, -חדר
  ऑर्डर, नंबर, संख्या, खाता, खाते, इनवॉइस, चालान, टिकट, फ्लाइट, मोबाइल, फोन, ग्राहक, संदर्भ, कार्ड, অর্ডার, নম্বর, অ্যাকাউন্ট, ஆர்டர், எண், கணக்கு, ఆర్డర్
  คำสั่งซื้อ, หมายเลข, เลขที่, บัญชี, ใบแจ้งหนี้, บัตร, โทร, เที่ยวบิน, การจอง, พัสดุ, อ้างอิง, ลูกค้า, ห้อง, ใบเสร็จ
  订单, 訂單, 单号, 單號, 发票, 發票, 账号, 账户, 帳號, 帳戶, 卡号, 卡號, 尾号, 尾號, 末四位, 末四碼, 电话, 電話, 客服, 热线, 熱線, 致电, 致電, 编号, 編號, 航班, 房间, 房間, 工单, 流水, 号码, 號碼, 会员, 會員, 手机, 手機, 案件, 快递, 运单, 邮编, 查询, 查詢, 统一编号, 統一編號, 金额, 金額
  注文, 請求, お客様番号, 会員番号, 顧客番号, 伝票, 追跡, 電話, 口座, 予約, 便名, お問い合わせ, 問合せ, 受付番号, 管理番号, 整理番号, 部屋, 末尾, 下4桁, 下４桁, 郵便番号, 登録番号, 領収, 型番, 品番, 証券番号
  주문, 송장, 계좌, 카드, 예약, 항공, 전화, 고객센터, 문의, 운송장, 접수번호, 고객번호, 사업자, 회원번호, 영수증, 호실, 등록번호, 끝자리, 대표번호
  შეკვეთ, ანგარიშ, ნომერ, պատվեր, հաշիվ, համար
`;

/** Words that have nothing to do with codes, but contain stems of the other tables. */
const none = `
  e-post, epost, sähköpost, eposta, e-posta
`;

export const codeWords: Readonly<Record<CodeWordKind, string>> = {
  none,
  owner,
  number,
  sure,
  purpose,
  handover,
  code,
  needy,
};
