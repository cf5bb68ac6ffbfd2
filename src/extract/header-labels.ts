/** The field in a line of a copied header block. */
export type HeaderKind = (typeof kindsOfHeader)[number];

const kindsOfHeader = ["from", "sent", "date", "to", "cc", "subject"] as const;

const labels = (from: string, sent: string, date: string, to: string, cc: string, subject: string) => ({
  from: from.split("|"),
  sent: sent.split("|"),
  date: date.split("|"),
  to: to.split("|"),
  cc: [...cc.split("|"), "cc", "bcc"],
  subject: subject.split("|"),
});

/** The labels of a copied header block, by language. Mail programs write it above a mail that they quote without `>`. */
export const headerLabels: Readonly<Record<string, Readonly<Record<HeaderKind, readonly string[]>>>> = {
  ar: labels("من|المرسل", "أرسل|تم الإرسال|أُرسلت|إرسال", "التاريخ|تاريخ", "إلى|المستلم", "نسخة", "الموضوع"),
  bg: labels("от", "изпратено|изпратен", "дата", "до|на", "копие|як", "относно|тема"),
  ca: labels("de", "enviat|enviat el", "data", "per a|a", "a/c", "assumpte|tema"),
  cs: labels("od|odesílatel", "odesláno", "datum", "komu|pro|příjemce", "kopie", "předmět"),
  da: labels("fra", "sendt", "dato", "til", "kopi", "emne"),
  de: labels(
    "von|absender",
    "gesendet|gesendet am|verschickt",
    "datum",
    "an|empfänger",
    "kopie|bcc",
    "betreff|thema|betrifft",
  ),
  el: labels("από", "στάλθηκε|εστάλη|αποστολή", "ημερομηνία|ημ/νία", "προς", "κοιν.|κοινοποίηση|κοιν", "θέμα"),
  en: labels("from|sender|reply-to", "sent|sent at|sent on", "date", "to|recipient|recipients", "copy", "subject|re"),
  es: labels("de|desde|remitente", "enviado|enviado el|enviada el|enviados", "fecha", "para|a", "copia", "asunto"),
  et: labels("saatja|kellelt", "saadetud", "kuupäev", "adressaat|kellele|saaja", "koopia", "teema"),
  fa: labels("از|فرستنده", "فرستاده شده|ارسال شده|ارسال", "تاریخ", "به|گیرنده", "رونوشت", "موضوع"),
  fi: labels("lähettäjä", "lähetetty", "päiväys|pvm|päivämäärä", "vastaanottaja|saaja", "kopio", "aihe"),
  fr: labels(
    "de|expéditeur",
    "envoyé|envoyé le|envoyée|envoyé à|message du",
    "date",
    "à|a|pour|destinataire",
    "copie|copie à",
    "objet|sujet",
  ),
  he: labels("מאת", "נשלח|נשלח ב", "תאריך", "אל|עבור", "עותק|העתק", "נושא|הנדון"),
  hi: labels("प्रेषक|से|द्वारा", "भेजा गया|भेजा", "दिनांक|तारीख", "प्रति|प्राप्तकर्ता|को", "प्रतिलिपि", "विषय"),
  hr: labels("od|šalje|pošiljatelj", "poslano|poslano dana", "datum", "za|prima|primatelj", "kopija", "predmet"),
  hu: labels("feladó|küldő|from", "elküldve|küldve", "dátum", "címzett|címzettek|to", "másolatot kap|másolat", "tárgy"),
  id: labels("dari|pengirim", "dikirim|terkirim", "tanggal", "kepada|ke|untuk", "tembusan", "subjek|perihal|hal"),
  it: labels("da|mittente", "inviato|inviata|inviato il", "data", "a|per|destinatario", "copia", "oggetto"),
  ja: labels("差出人|送信者|from", "送信日時|送信|sent", "日時|日付|date", "宛先|受信者|to", "写し", "件名|subject"),
  ko: labels(
    "보낸 사람|보낸사람|발신|발신자",
    "보낸 날짜|보냄|보낸날짜|보낸 시간",
    "날짜|일시",
    "받는 사람|받는사람|수신|수신자",
    "참조",
    "제목",
  ),
  lt: labels("nuo|siuntėjas|kas", "išsiųsta|siųsta", "data", "kam|iki|gavėjas", "kopija", "tema"),
  lv: labels("no|sūtītājs", "nosūtīts|sūtīts", "datums", "kam|saņēmējs", "kopija", "temats|tēma"),
  nb: labels("fra", "sendt", "dato", "til", "kopi", "emne"),
  nl: labels("van|afzender", "verzonden|verstuurd", "datum", "aan|naar", "kopie", "onderwerp|betreft"),
  pl: labels("od|nadawca", "wysłano|wysłane|wysłany", "data", "do|adresat", "dw|udw|kopia", "temat"),
  pt: labels(
    "de|remetente",
    "enviado|enviada|enviado em|enviada em|enviado a",
    "data",
    "para|a",
    "copia|cópia",
    "assunto",
  ),
  ro: labels("de la|de|expeditor", "trimis|expediat", "data|dată", "către|la|catre", "copie", "subiect|subiectul"),
  ru: labels("от|от кого|отправитель", "отправлено|послано|отправлен", "дата", "кому|получатель", "копия", "тема"),
  sk: labels("od|odosielateľ", "odoslané|odoslaná", "dátum", "komu|pre|príjemca", "kópia", "predmet"),
  sl: labels("od|pošiljatelj", "poslano", "datum", "za|prejemnik", "kp|kopija", "zadeva"),
  sr: labels(
    "od|од|šalje|пошиљалац",
    "poslato|послато",
    "datum|датум",
    "za|за|прима|коме",
    "kopija|копија",
    "naslov|наслов|predmet|tema|тема",
  ),
  sv: labels("från|avsändare", "skickat|skickades", "datum", "till|mottagare", "kopia", "ämne"),
  th: labels("จาก|ผู้ส่ง", "ส่ง|ส่งเมื่อ|วันที่ส่ง", "วันที่", "ถึง|ผู้รับ", "สำเนา|สำเนาถึง", "เรื่อง|หัวเรื่อง|ชื่อเรื่อง"),
  tr: labels(
    "kimden|gönderen",
    "gönderme tarihi|gönderildi|gönderim tarihi|gönderilme tarihi",
    "tarih",
    "kime|alıcı",
    "bilgi",
    "konu",
  ),
  uk: labels("від|від кого|відправник", "надіслано|відправлено", "дата", "кому|до|одержувач", "копія", "тема"),
  vi: labels(
    "từ|người gửi",
    "đã gửi|gửi|gửi lúc|đã gửi lúc",
    "ngày",
    "đến|tới|người nhận",
    "đồng gửi",
    "chủ đề|tiêu đề|v/v",
  ),
  zh: labels(
    "发件人|寄件者|發件人|寄件人|发自|送件人",
    "发送时间|发送日期|寄件日期|發送時間|傳送時間|已发送|寄出|已傳送|發送日期|传送日期",
    "日期|时间|時間",
    "收件人|收件者|至",
    "抄送|副本|密送|密件抄送|副本抄送",
    "主题|主旨|主題|标题",
  ),
};

/** The meanings of each label: which header field it names, in which language. */
export const meaningsOfLabel: ReadonlyMap<string, readonly Meaning[]> = Map.groupBy(
  Object.entries(headerLabels).flatMap(([language, kinds]) =>
    kindsOfHeader.flatMap((kind) => kinds[kind].map((label): Meaning => ({ label, language, kind }))),
  ),
  ({ label }) => label,
);

export interface Meaning {
  label: string;
  language: string;
  kind: HeaderKind;
}
