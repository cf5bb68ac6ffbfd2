/** The words of one language, in lower case, for the line that mail programs write above a quote. */
export interface AttributionWords {
  /** The first words. A date, or a name with its address, may come first in any language. */
  openers: readonly string[];
  /** The last words before the colon. */
  closers: readonly string[];
  /** Words for writing that may have a name or a date between them and the colon. */
  verbs: readonly string[];
}

const words = (openers: string, closers: string, verbs = ""): AttributionWords => ({
  openers: openers === "" ? [] : openers.split("|"),
  closers: closers === "" ? [] : closers.split("|"),
  verbs: verbs === "" ? [] : verbs.split("|"),
});

export const attributionWords: Readonly<Record<string, AttributionWords>> = {
  ar: words("في|بتاريخ|يوم|كتب", "كتب|كتبت|كتب ما يلي", "تمت كتابة ما يلي بواسطة|كتب|كتبت"),
  bg: words("на|в", "написа|написал|написала|пише"),
  ca: words("el|en data|a|missatge de", "va escriure|ha escrit|escrigué", "del dia"),
  cs: words(
    "dne|dňa|v|ve",
    "napsal|napsala|napsal(a)|napsal/a|napsali|píše|napsal/la",
    "odesílatel|napsal|napsala|napsal(a)",
  ),
  da: words("den|på|d.|kl.", "skrev|skrev følgende|har skrevet", "skrev"),
  de: words("am|den|vom|zitat von", "schrieb|geschrieben|schreibt|schrieb folgendes", "schrieb|schrieb am|schreibt"),
  el: words("στις|την|ο/η|στην|ο χρήστης", "έγραψε|έγραψαν|γράφει|έγραψες"),
  en: words(
    "on|at|in a message dated|in a message sent|in message|in article|quoting",
    "wrote|writes|has written|wrote the following",
    "wrote on|wrote at|wrote in message|wrote (",
  ),
  es: words("el|en fecha|con fecha|a", "escribió|escribio|ha escrito|escribe|escribiste", "escribió el|escribió"),
  et: words("kuupäev|kuupäeval", "kirjutas", "kirjutas"),
  eu: words("", "idatzi du|idatzi zuen|(e)k idatzi du", "hau idatzi du|idatzi du|idatzi zuen"),
  fa: words("در|در تاریخ|به تاریخ", "نوشت|نوشته|نوشته است"),
  fi: words("", "kirjoitti|kirjoitti seuraavasti", "kirjoitti"),
  fr: words("le|en date du|à|selon", "a écrit|a ecrit|écrit|écrivait|à écrit", "a écrit le|a écrit"),
  gl: words("o|en", "escribiu"),
  he: words("בתאריך|ב-|ביום|ב", "כתב|כתבה|כתב/ה|כתב(ה)|מאת", "מאת|כתב"),
  hi: words("को|दिनांक", "ने लिखा|लिखा|लिखा है"),
  hr: words(
    "dana|dne|u|na datum",
    "napisao je|napisala je|napisao/la je|napisao/la|je napisao/la|piše|je napisao|je napisala",
  ),
  hu: words("", "írta|ezt írta|a következőt írta|írta a következőket", "ezt írta"),
  id: words("pada|pada tanggal|tanggal", "menulis|tulis|telah menulis"),
  is: words("þann|hinn", "skrifaði", "skrifaði"),
  it: words(
    "il|in data|il giorno|alle|nel giorno",
    "ha scritto|scrive|scriveva|scrisse|ha scritto quanto segue",
    "ha scritto",
  ),
  ja: words(
    "",
    "は書きました|が書きました|のメール|は次のように書きました|wrote|さんは書きました|のメッセージ",
    "は書きました",
  ),
  ko: words("", "작성|님이 작성|님의 말|썼습니다|님이 씀|쓴 메시지|쓴 글|님이 쓴 글|님이 보낸 메시지"),
  lt: words("", "rašė|parašė"),
  lv: words("", "rakstīja|raksta"),
  ms: words("pada", "menulis"),
  nb: words("den|på|d.|kl.", "skrev|skrev følgende|har skrevet", "skrev"),
  nl: words("op|aan|quoting", "schreef|geschreven|schreef het volgende|schrijft", "schreef|heeft op|schreef op"),
  pl: words(
    "w dniu|dnia|dn.|w|użytkownik|wiadomość napisana przez",
    "napisał|napisała|napisał(a)|napisał/a|pisze|napisano|napisali",
    "napisał|napisał(a)|napisał(-a)|napisana przez",
  ),
  pt: words("em|no dia|a|na|no|às", "escreveu|escreveu o seguinte|wrote", "escreveu|escreveu em|escreveu no dia"),
  ro: words("în|in|la|pe|pe data de", "a scris|scrie|au scris"),
  ru: words(
    "в|от|пользователь|дата",
    "пишет|писал|писала|написал|написала|написал(а)|написал(-а)|пишут|пишет следующее",
    "пишет|писал(а)|написал|написала|вы писали",
  ),
  sk: words("dňa|dna|v", "napísal|napísala|napísal(a)|napísal/a|píše", "odosielateľ|napísal|napísal(a)"),
  sl: words("v|dne|je oseba", "napisal|napisala|je napisal|je napisala|napisal/a|je napisal/a|piše"),
  sr: words("дана|dana|u|у", "је написао/ла|је написао|је написала|je napisao/la|je napisao|je napisala|написао|пише"),
  sv: words("den|på|d.|kl.", "skrev|har skrivit|skriver|skrev följande", "skrev"),
  th: words("เมื่อ|ในวันที่|วันที่|ใน", "เขียนว่า|เขียน|ได้เขียน", "เขียน"),
  tr: words("", "yazdı|şunu yazdı|şunları yazdı|yazmış|yazıyor|yazdi"),
  uk: words("у|в|від|користувач|дата", "пише|писав|писала|написав|написала|написав(ла)|написав(-ла)", "пише|написав"),
  vi: words("vào|vào lúc|vào ngày|ngày|lúc", "đã viết|viết|wrote"),
  zh: words("在|于|於|在您|您在", "写道|寫道|写到|寫到|的来信|写|寫|说|說|撰写|寫了"),
};
