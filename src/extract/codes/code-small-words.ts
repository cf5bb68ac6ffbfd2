import { foldWord } from "../folded-text.ts";

/** A set of the small words that link a code to its name, in the languages of the tables. */
function setOf(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/).map(foldWord));
}

/** The words for "is": "your code is 482913". */
export const isWords = setOf(`
  is are now е ist lautet sind es son é è é est sont sera to jest brzmi je jsou zní är er on ovat este e sunt ir yra ay ialah adalah ini là la
  είναι это есть це є هو هي هی است ہے הוא היא है हैं হল হলো ni is: olarak dır dir ва кодыңыз и
`);

/** The words for "your", "this" and "the", before a word for a code. */
export const possessives = setOf(`
  your this the following ihr ihre ihren ihrem ihrer ihres dein deine deinen deinem deiner deines euer der die das dieser diesen diese folgende folgenden votre vos ton ta ce cet le la tu su sus tus este esta o a seu sua teu tua
  il lo tuo tua suo sua vostro uw je jouw deze de din ditt dit deres twój twoj twoja twoje twojego twojej twoim swój swoje swojego swojej pański pana pani váš vaš vas váš vasa vašeho vašemu vaše vaší svého své svůj vášho svojho vašeg vašem tvůj tvoj sizin senin sinun teidän ваш вашиот вашият вашого вашої вашего вашей ваше ваша этот этого цей цього своего своей твой твій ваш твоја vaša vašo jūsų jūsu teie
  σας σου ο το anda kamu az ön
`);

/** The words for "as", "is" and the like, between a code and its name: "482913 as your code". */
export const behindWords = setOf(`
  is as als come como comme som jako jest je est es é è ist är er on to este e olarak ay ni ialah adalah là är jest ως είναι это це як как است है hai the
  ваш ваша twój tu il
`);

export const smallWords = setOf(`
  for to of and in on at by with from using use enter type input copy paste following next suivant suivante siguiente seguinte seguente folgender volgende następujący følgende följande seuraava следующий aşağıdaki berikut here a an is no below as again new one time only app account login user service website digit digits number numeric stelliger stellige stelligen stellig chiffres dígitos cifre cijferige cijfers cyfrowy místný haneli siffrig cifret sifret numeroinen значный значний ψήφιο jegyű cifre số chữ digit
  für zum zur von bei im am auf den dem des und mit ihr ihre dein neuer neue neues
  pour de du des la le les l d c et sur à au aux par un une votre nouveau
  para por el los las en con y del al un una tu su nuevo
  do da dos das no na em com e novo um uma seu
  per il lo di del della dei su al alla e con nuovo tuo suo
  voor van het een bij om te en uw je nieuwe
  do dla na w z i ze twoj nowy nr
  pro k ke se si v a vas
  için ve bu ile kodu yeni
  för att till i på och med din ditt det den dit nye nya til
  ja sinun uusi
  для в на по к и ваш ваша твой новый від до у ваш за
  για τον την στο στη στην το σας σου την
  של שלך הוא ל
  الخاص بك لك هو هي في إلى شما شما‌
  của bạn để cho quý khách untuk anda kamu di ke dan yako ya
  az a az ön dvs tău ta pentru vašu vas za od
`);

/** The verbs of entering a code, such as "enter" and "use". */
export const useWords = setOf(`
  use enter type submit input paste verwenden nutzen eingeben gib geben benutze benutzen verwende nutze tippe utilisez utilise saisissez saisis entrez entre tapez
  usa use usá ingresa ingrese introduce introduzca introduzca escribe escriba copia digite informe insira introduza utilize inserisci inserire digita utilizza usare gebruik voer vul typ
  użyj wpisz podaj wprowadź zadejte zadej použijte použij opište vložte zadajte použite girin giriniz ange använd skriv fyll brug indtast skriv bruk oppgi tast skriv käytä syötä anna kirjoita
  введите используйте укажите введи введіть використайте вкажіть въведете πληκτρολογήστε εισαγάγετε εισάγετε χρησιμοποιήστε írja adja használja introduceți folosiți utilizați unesite upišite vnesite въведи
  أدخل استخدم ادخل وارد הזן הזינו הקלד दर्ज nhập dùng masukkan gunakan ketik pakai
`);

/** The words for "please", and other words that may stand between "enter" and the code. */
export const politeWords = setOf(`
  please the this bitte sie dazu hier s'il vous plait svp por favor per favore per cortesia alstublieft hierbij proszę prosím prosim lütfen пожалуйста будь ласка παρακαλώ kérjük vă rugăm
  vänligen venligst vennligst silakan harap vui lòng
`);

/** Channels of codes, and kinds of cards and accounts: "your WhatsApp code", "Venmo phone verification code". */
export const channelWords = setOf(`
  sms whatsapp telegram phone mobile email mail text telephone telefon handy telefono téléphone telefoon telemóvel celular id ids visa mastercard amex
`);

/** Things whose codes nobody types: "Location code". */
export const thingsWithCodes = setOf(`
  location bank precinct project cost charge rate dept division unit region agency activity occupation industry commodity tariff customs grade subject module program programme
  major campus fund ledger asset equipment serial warranty purchase sales sale route depot trip tour zone district state county city town village plant style size fabric design
  work pay job task time absence leave payroll machine engine paint parts spare fault trouble diagnosis patient ward clinic drug procedure school university college teacher student
  charity church group company business entity vendor seller agent broker dealer owner operator carrier terminal port hub bin shelf rack aisle lane seat meter tag asset template
  budget object function programme activity nature reference matter bill invoice order delivery shipping service tax vat country language currency time date season
  airline crew shift roster practice discipline hazard safety fire emergency debit credit pension scheme insurance premium claim election poll species breed animal crop
  sponsor member membership clubcard loyalty upgrade swap trade exchange analysis nominal sample test exam level lesson chapter page part lot batch series edition genre
  media film song track album artist book author library museum gallery theatre league match floor block tower parking permit licence license chassis brake tyre wheel
  battery sensor firmware model tax benefit allowance deduction expense income payment transfer transaction wire routing clearing settlement stock share fund market
  waste recycling water gas power energy tariff meter weather storm alert flood disease virus vaccine blood allergy diet food allergen hazard chemical substance
  vereins projekt kostenstellen filial standort mandanten kunden
  ship vessel aircraft flight fare cabin class meal ticket event venue hall stand booth session room table menu recipe wine color colour
`);

/** Things opened by a code: "the door code is 4821". */
export const lockWords = setOf("door lock lockbox locker keypad garage alarm safe entry");
