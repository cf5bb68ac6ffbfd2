/** The words before and after the name of a device or program in a line like "Sent from my iPhone", by language. */
const forms: readonly (readonly [language: string, beginnings: string, endings: string])[] = [
  ["ar", "أُرسلت من|أرسلت من|مرسل من|تم الإرسال من|أرسل من|مُرسل من|أُرسل من|الحصول على outlook", ""],
  ["bg", "изпратено от|изпратено с|изтегляне на outlook за|вземете outlook за", ""],
  ["ca", "enviat des de|enviat des del|enviat amb|obteniu outlook per|obtén l'outlook per", ""],
  [
    "cs",
    "odesláno z|odesláno ze|odesláno pomocí|odesláno přes|získat outlook pro|získejte outlook pro|stáhnout outlook pro",
    "",
  ],
  ["da", "sendt fra|sendt via|sendt med|hent outlook til|hent outlook for", ""],
  [
    "de",
    "von meinem|von meiner|gesendet von|gesendet mit|gesendet vom|gesendet über|diese nachricht wurde von meinem|holen sie sich outlook für|outlook für",
    "gesendet|gesendet.|verschickt|beziehen|herunterladen",
  ],
  ["el", "στάλθηκε από|εστάλη από|αποστολή από|αποκτήστε το outlook για|λήψη του outlook για", ""],
  [
    "en",
    "sent from|sent via|sent using|sent with|get outlook for|get bluemail for|sent by my|sent on the go from|composed on",
    "",
  ],
  [
    "es",
    "enviado desde|enviado con|enviado mediante|enviado por mi|enviada desde|obtener outlook para|enviado vía|descargar outlook para|descarga outlook para",
    "",
  ],
  ["et", "saadetud minu", ""],
  ["fi", "lähetetty|hanki outlook", "lähetetty"],
  [
    "fr",
    "envoyé de|envoyé depuis|envoyé à partir de|envoyé avec|envoyé par|obtenir outlook pour|télécharger outlook pour|provenance :|envoyée de|envoyé via",
    "",
  ],
  ["he", "נשלח מה|נשלח מ|נשלח באמצעות|הורד את outlook עבור", ""],
  ["hi", "मेरे", "से भेजा गया|से भेजा"],
  [
    "hr",
    "poslano s|poslano iz|poslano sa|poslato sa|poslato iz|послато са|nabavite outlook za|preuzmite outlook za",
    "",
  ],
  ["hu", "elküldve|küldve|az outlook beszerzése|outlook beszerzése", "küldve|elküldve|lett küldve"],
  ["id", "dikirim dari|dikirim menggunakan|terkirim dari|dapatkan outlook untuk|unduh outlook untuk", ""],
  ["it", "inviato da|inviato dal|inviato con|inviato tramite|inviata da|scarica outlook per|ottieni outlook per", ""],
  ["ja", "", "から送信|から送信されました|より送信"],
  ["ko", "", "에서 보냄|에서 전송|에서 보냈습니다|에서 보낸 메일|에서 발송"],
  ["lt", "išsiųsta iš", ""],
  ["lv", "nosūtīts no|sūtīts no", ""],
  ["nb", "sendt fra|sendt med|last ned outlook for|skaff deg outlook for|hent outlook for", ""],
  [
    "nl",
    "verstuurd vanaf|verzonden vanaf|verzonden met|verstuurd met|verstuurd via|verzonden via|outlook voor|download outlook voor|haal outlook voor",
    "",
  ],
  ["pl", "wysłane z|wysłano z|wysłane przez|wysłane za pomocą|wysłano za pomocą|pobierz program outlook dla", ""],
  [
    "pt",
    "enviado do|enviado pelo|enviado a partir do|enviado de|enviado via|enviado através do|enviado com|enviada do|obter o outlook para|obtenha o outlook para",
    "",
  ],
  [
    "ro",
    "trimis de pe|trimis din|trimis de la|trimis cu|expediat de pe|obțineți outlook pentru|descărcați outlook pentru",
    "",
  ],
  [
    "ru",
    "отправлено с|отправлено из|отправлено со|отправлено через|послано с|скачать outlook для|получить outlook для|загрузить outlook для",
    "",
  ],
  ["sk", "odoslané z|odoslané zo|odoslané pomocou|získať outlook pre|stiahnuť outlook pre", ""],
  ["sl", "poslano iz|poslano z|poslano s|pridobite outlook za|prenesite outlook za", ""],
  ["sv", "skickat från|skickades från|skickat med|skickat via|hämta outlook för", ""],
  ["th", "ส่งจาก|ดาวน์โหลด outlook|รับ outlook", ""],
  ["tr", "", "gönderildi|ile gönderildi|gönderilmiştir"],
  [
    "uk",
    "надіслано з|надіслано із|відправлено з|надіслано за допомогою|відправлено з|отримати outlook для|завантажити outlook для",
    "",
  ],
  ["vi", "đã gửi từ|được gửi từ|gửi từ|tải outlook cho|tải xuống outlook cho|lấy outlook cho", ""],
  [
    "zh",
    "发自|發自|从我的|從我的|来自我的|發送自|发送自|傳送自|获取 outlook for|取得 outlook for|使用",
    "发送|傳送|傳送。|寄出|发出",
  ],
];

const partsOf = (column: 1 | 2) => forms.flatMap((form) => (form[column] === "" ? [] : form[column].split("|")));

/** The beginnings by their first character and the endings by their last one: a quick test, since most lines match none. */
const beginnings = Map.groupBy(partsOf(1), (words) => words[0]);
const endings = Map.groupBy(partsOf(2), (words) => words.at(-1));

/** Names of devices and programs. A line needs one of them, or "my", because "sent from Leeds" is about a parcel. */
const devices =
  /iphon|ipad|ipod|apple|android|samsung|galaxy|pixel|huawei|xiaomi|redmi|oneplus|oppo|vivo|honor|nokia|motorola|lumia|xperia|sony|htc|\blg\b|blackberry|playbook|windows|macbook|\bmac\b|outlook|yahoo|proton|gmail|zoho|airmail|spark|superhuman|thunderbird|k-9|fairemail|mailspring|canary|edison|blue ?mail|newton|mailbird|hey\b|aol|gmx|web\.de|\bmail\b|mail\.ru|почт|пошт|яндекс|yandex|qq邮箱|网易|邮箱|foxmail|verizon|t-mobile|at&t|vodafone|handheld|wireless|mobil|móvil|smartphone|handy|telefon|téléphone|telefoon|telefono|teléfono|telemóvel|celular|cellulare|phone|tablet|device|gerät|手机|手機|스마트폰|네이버|갤럭시|携帯|スマホ|телефон|андроид|айфон|смартфон|هاتف|جهاز|טלפון|נייד/;

const own =
  /^(?:sent (?:from|by) my|von mein|envoyé de mon|enviado (?:desde mi|do meu)|inviato dal mio|verstuurd vanaf mijn|发自我的|發自我的)/;

/** True for a line that a device adds at the end of a mail. The line must be in lower case and without markup. */
export function isDeviceLine(line: string): boolean {
  if (line.length < 4 || line.length > maxLength) return false;
  const bare = line.replaceAll(links, "").trim();
  const count = bare.split(" ").length;
  const begun = (beginnings.get(bare[0]) ?? []).find((words) => bare.startsWith(words));
  const isEnded = count <= mostWords + 1 && (endings.get(bare.at(-1)) ?? []).some((words) => bare.endsWith(words));
  if (begun?.includes("outlook")) return offer.test(bare) && count <= mostWords;
  if (begun === undefined && offer.test(bare) && offerEnd.test(bare)) return count <= mostWords;
  if (begun === undefined && !isEnded) return false;
  // The device must be in the same clause: "Sent from my desk, which is easier than my phone" is not such a line.
  const clauses = bare.split(/[,;:!?.] /);
  const clause = (begun !== undefined ? clauses[0] : clauses.at(-1)) ?? "";
  if (devices.test(clause)) return true;
  const isShort = own.test(bare) && count <= mostWords && clauses.length === 1;
  return isShort || (count === 3 && /^sent (?:from|via|with) [^ .]+$/.test(bare));
}

const maxLength = 150;

/** Matches an advertisement for Outlook, which names an operating system: "Get Outlook for iOS". */
const offer = /outlook.{0,40}(?:ios|android|mac|windows)|(?:ios|android|mac|windows).{0,40}outlook/;
const offerEnd =
  /(?:を入手|をダウンロード|다운로드|받기|가져오기|edinin|alın|indirin|beziehen|herunterladen|holen|beszerzése|下载|下載)\.?$/;

/** The most words of such a line: "Sent from my toaster" is one, "Sent from my warehouse this morning, as I promised you" is not. */
const mostWords = 6;

/** Matches the link in `Get Outlook for iOS<https://…>`, which programs write when they convert HTML to text. */
const links = /[<([] ?https?:[^ <([\])>]{0,100} ?[\])>]?/g;
