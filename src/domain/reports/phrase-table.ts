/**
 * Phrases in the replies of servers, by their meaning. They are in lower case; accents are ignored. A phrase matches from the beginning of
 * a word, and may end inside a word: `unknown user` also matches "unknown users". A gap (` … `) stands for a few words.
 */
export const phraseTable = {
  /** The recipient does not exist. These words are certain, whatever the code is. */
  noUser: `
    user unknown, unknown user, unknown recipient, recipient unknown, unknown mailbox, mailbox unknown, unknown email user, user is unknown, recipient is unknown
    no such user, no such mailbox, no such recipient, no such account, no such local user, no such email, no such e-mail, no such mail user, no such mail address, there is no such user
    no user by that name, no user with that name, no account by that name, no mailbox here by that name, no mailbox by that name
    mailbox not found, mailbox does not exist, mailbox doesn't exist
    user not found, user does not exist, user doesn't exist
    recipient not found, recipient does not exist
    account does not exist, account doesn't exist, account that you tried to reach does not exist
    recipnotfound, exrecipnotfound, recipientnotfound
    unbekannter empfänger, empfänger unbekannt, benutzer unbekannt, unbekannter benutzer
    utilisateur inconnu, destinataire inconnu, usuario desconocido, utente sconosciuto, onbekende gebruiker, usuário desconhecido
    пользователь не найден, такого пользователя нет, нет такого пользователя, nie ma takiego konta, nie ma takiego użytkownika
    用户不存在, 收件人不存在, 邮箱不存在, 使用者不存在, 帳號不存在
  `,
  /** The recipient or the domain does not exist, in less certain words. */
  gone: `
    user … is unknown, recipient … is unknown
    mailbox … not found, mailbox … does not exist, mailbox … doesn't exist
    user … not found, user … does not exist, user … doesn't exist
    recipient … not found, recipient … does not exist, recipient … doesn't exist
    account … does not exist, account … doesn't exist
    empfänger … existiert nicht, postfach … existiert nicht, benutzer … existiert nicht
    usuario … no existe, utente … non esiste
    rcpt … does not exist, bad_recipient, name or service not known, malformed name server reply, invalid final delivery userid, wrong or no longer valid, not a valid, unknown address, address unknown
    unknown local, unknown account, unknown e-mail address, unknown email address, unknown or illegal
    unknown or invalid address, unknown to address, unknown addressee, addressee unknown, unknown destination, unknown rcpt
    unknown virtual, unknown name, unknown person, account unknown, is unknown at host
    mailbox … is unknown, address … is unknown, user … unknown on this
    no such address, no such person
    no such alias, no such name, no such customer, no such virtual, no such subscriber
    no such member, no such addressee, no such destination, no such login
    there is no user, there is no such, there is no account
    no mailbox here, no mailbox found, no mailbox for, no mailbox with, no local mailbox, no mail box available for this user
    no recipient, no one by that name, no one at this address, no valid recipient, no such id, no such a user
    mailbox not exist
    mailbox … not exist, mailbox no longer exist, mailbox is not valid
    user not exist, user … not exist
    user is not found, user not known, user not local, user … not known, users not found
    recipient … not exist, recipient not known, recipient not exist, recipient no longer, recipient … could not be found
    account not found, account … not found
    account … not exist, account has been deleted, account was deleted
    address not found, address … not found, address does not exist, address … does not exist, address … doesn't exist
    address … not exist, address … could not be found, address … couldn't be found, address … wasn't found, address is not valid
    address … no longer exist, address no longer exist, address is no longer valid, address no longer valid
    wasn't found at, couldn't be found at, weren't found, could not be found on, could not be found at, could not find the recipient
    invalid recipient, recipient invalid, recipient is invalid, invalid mailbox, invalid user, invalid rcpt, invalid addressee
    invalid email address, invalid e-mail address, invalid account, invalid local, recipient address is invalid, invalid destination
    recipient is not valid, not a valid mailbox, not a valid user, not a valid recipient, not a valid email, not a valid e-mail
    not a valid address, not a valid account, not valid recipient, not a known user, not a known recipient, not a known mailbox, not a registered
    not known at this, not known here, not a local user, not a local recipient, not a local mailbox, not our customer, not our user
    not listed in domino, not listed in public, not listed in address book, not listed in name & address, is not listed in
    doesn't have a … account, does not have a … account, does not have an account, doesn't have an account, isn't a mailbox
    there is no mailbox, this is not a mailbox, non-existent user, nonexistent user, non-existent mailbox, nonexistent mailbox
    non-existent address, nonexistent address, non-existent recipient, nonexistent recipient, non-existing, nonexisting
    non-existent account, nonexistent account, non existent, non-existent email, nonexistent email, to nonexistent
    bad destination mailbox, bad destination email, bad mailbox, bad recipient, bad address, illegal user, illegal alias, illegal recipient
    recipient name is not recognized, recipient not recognized, name is not recognized, name not recognized, address not recognized
    unrecognized recipient, unresolvable address, undeliverable address, undeliverable recipient
    e-mail address you entered couldn't be found, address you entered couldn't be found, the email account does not exist
    the e-mail account does not exist, does not exist on this server, does not exist here, does not exist at this, does not exist in our
    does not exist in this, not exist in, not found in directory, not found in the directory, not found in our, name not found in, no matches to nameserver
    no match for, person not found, doesn't exist on this, is not a member, user has moved, has left the company, no longer works
    no longer employed, no longer on server, no longer on this server, user has left, no longer an employee
    delivery to this address is restricted to nobody, address has been changed, address does not accept mail because it does not
    host unknown, unknown host, host not found, unknown mail host, unknown domain, domain not found, domain does not exist
    domain doesn't exist, domain … does not exist, domain … doesn't exist, domain … not found, domain name not found, no such domain
    no such host, non-existent domain, nonexistent domain, non-existent host, nxdomain, invalid domain, domain is invalid, illegal host
    host … is unknown, host … not found, bad host, domain … has no, domain name does not exist, hostname … not found, host does not exist
    couldn't find any host, couldn't find a mail exchanger, couldn't find a host, no mx or a, no mx record, no valid mx
    has no mx, no mail server found, no mail exchanger, no mail hosts for domain, no mailserver found, cannot find your mail server
    nullmx, null mx, does not accept mail (null, domain does not accept mail, domain does not receive, cannot route to
    unrouteable address, unroutable address, unrouteable mail domain, unroutable mail domain, unrouteable domain
    all host address lookups failed permanently, non-existent hosts, no route to domain, dns domain … does not exist, dns server returned answer with no data
    mx or srv record indicated no, name service error … not found
    unbekannte adresse, adresse unbekannt
    adresse … existiert nicht, konto … existiert nicht, mailbox … existiert nicht
    empfängeradresse … existiert nicht, mailadresse … existiert nicht, domain … existiert nicht
    adresse … nicht gefunden, empfänger … nicht gefunden, empfängeradresse … nicht gefunden, mailadresse … nicht gefunden, postfach … nicht gefunden
    kein solcher benutzer, kein solches postfach, kein benutzer, nicht bekannt, adresse … nicht bekannt, ungültige empfänger, unbekannte empfänger
    adresse inconnue, boîte inconnue, compte inconnu, boîte aux lettres inconnue
    adresse inexistante, boîte inexistante, utilisateur inexistant, destinataire inexistant, compte inexistant, domaine inconnu
    adresse … n'existe p, compte … n'existe p, boîte … n'existe p, utilisateur … n'existe p, destinataire … n'existe p, domaine … n'existe p
    adresse … introuvable, destinataire … introuvable, adresse … n'a pas été trouvée, adresse invalide, destinataire invalide
    destinatario desconocido, dirección desconocida, usuario inexistente, buzón inexistente, cuenta inexistente
    dirección inexistente, buzón … no existe, cuenta … no existe, dirección … no existe, destinatario … no existe
    dominio … no existe, no existe el usuario, no existe la cuenta, no existe el buzón, no existe la dirección, no se encontró la dirección, no se ha encontrado la dirección
    dirección … no se encontró, dirección … no se pudo encontrar, dirección … no se ha encontrado, usuario no encontrado, buzón no encontrado
    destinatario sconosciuto, utente inesistente, casella inesistente, indirizzo inesistente, destinatario inesistente
    casella … non esiste, indirizzo … non esiste, account … non esiste, destinatario … non esiste, dominio … non esiste
    indirizzo … non trovato, indirizzo … non è stato trovato, utente non trovato, impossibile trovare l'indirizzo
    gebruiker onbekend, onbekende ontvanger, ontvanger onbekend, onbekend adres, adres onbekend
    adres … bestaat niet, mailbox … bestaat niet, gebruiker … bestaat niet, postvak … bestaat niet, adres … niet gevonden, ontvanger … niet gevonden
    utilizador desconhecido, destinatário desconhecido, caixa postal inexistente, conta inexistente
    endereço inexistente, utilizador inexistente, destinatário inexistente, conta … não existe, endereço … não existe, usuário … não existe
    utilizador … não existe, destinatário … não existe, caixa … não existe, endereço … não encontrado, endereço … não foi encontrado
    usuário não encontrado, não foi possível encontrar o endereço, domínio … não existe
    пользователь … не найден, пользователь … не существует, пользователь неизвестен
    неизвестный пользователь, неизвестный получатель, ящик … не существует, ящик … не найден, адрес … не существует, адрес … не найден
    адресат … не найден, получатель … не найден, получатель … не существует, аккаунт … не существует, учетная запись … не существует
    несуществующ, нет такого адреса, такой ящик не, нет такого ящика, почта … не существует, домен … не существует
    nieznany użytkownik, użytkownik nieznany, nieznany odbiorca, nieznany adres, adresat nieznany, nieznany adresat
    nie ma takiej skrzynki, nie ma takiego adresu, brak takiego użytkownika
    brak takiego konta, konto … nie istnieje, adres … nie istnieje, skrzynka … nie istnieje, użytkownik … nie istnieje, odbiorca … nie istnieje
    nieistniejąc, konto nie istnieje, adres nie istnieje, nie znaleziono adresu, nie znaleziono użytkownika, nie ma u nas
    neznámý uživatel, uživatel … neexistuje, adresa … neexistuje, schránka … neexistuje, používateľ … neexistuje, okänd användare, okänd mottagare
    adressen … finns inte, ukjent bruker, ukjent mottaker, ukendt bruger, ukendt modtager, adressen … findes ikke, adressen … finnes ikke
    tuntematon käyttäjä, tuntematon vastaanottaja, osoitetta … ei ole, kullanıcı bulunamadı, bilinmeyen kullanıcı, adresi bulunamadı
    ismeretlen felhasználó, ismeretlen címzett, utilizator necunoscut, adresa … nu există, άγνωστος χρήστης, άγνωστος παραλήπτης
    konto … nicht vorhanden, postfach … nicht vorhanden, empfänger … nicht vorhanden, benutzer … nicht vorhanden, adresse … nicht vorhanden
    mailbox existiert … nicht, postfach existiert … nicht, benutzer existiert … nicht, empfänger existiert … nicht, cuenta … no encontrada, casella … inesistente, gebruiker … niet gevonden
    brugeren findes ikke, modtageren findes ikke, bruger … findes ikke, modtager … findes ikke, brukeren finnes ikke, mottakeren finnes ikke, användaren finns inte, mottagaren finns inte
    címzett … nem létezik, felhasználó … nem létezik, postafiók … nem létezik, utilizatorul nu există, destinatarul nu există, adresa nu există, domena nie istnieje, domena … nie istnieje
    存在しません, 見つかりません, 見つかりませんでした, ディレクトリのリストにありません, ディレクトリにありません, 宛先不明, あて先不明, ユーザー不明, ユーザ不明, 該当するユーザ, 存在しないアドレス, 存在しないユーザ
    帐号不存在, 账号不存在, 帐户不存在, 账户不存在, 地址不存在, 没有该用户, 没有此用户, 找不到收件人, 无此用户, 無此帳號, 無此使用者
    查無此人, 信箱不存在, 域名不存在, 존재하지 않는, 존재하지 않습니다, 사용자를 찾을 수 없, 없는 사용자, 수신자를 찾을 수 없
  `,
  /** Words with several meanings: a missing user, a full mailbox, or a bad reputation. */
  unavailable: `
    mailbox unavailable
  `,
  /** Words of Exchange Online for an address that is not in its directory. They have this meaning only with the code 5.4.1. */
  edge: `
    recipient address rejected: access denied
  `,
  /** The mailbox is full. */
  full: `
    quota, mailbox full, mailbox is full, mailbox … is full, mail box full, mail box is full, mailfolder is full, inbox is full, inbox full, folder is full
    account is full, account … is full, user … is full, mailbox storage, exceeded storage, exceeded its storage, storage limit, storage allocation
    exceeded the storage, exceeds the storage, storage space, out of storage, over the allowed, over its limit, mailbox size limit
    mailbox … exceed, mailbox would exceed, account … exceed, maximum storage, too much mail, too many messages in, too many messages on this
    mailbox limit, maximum mailbox, disk full, disk is full, not enough space, not enough disk, no space left, insufficient disk, insufficient space
    insufficient system storage, insufficient storage, out of disk, out of space, not have enough, mailbox for … full, would be over, mailbox has reached
    mail box space, space not enough, hat zuviele mails, hat zu viele mails, zu viele nachrichten im
    exceeded … space, exceed … limit of mailbox, recipient overquota, message count limit, user has exhausted allowed storage, full mailbox, cannot hold any
    postfach ist voll, postfach … voll, postfach voll, mailbox voll, speicherplatz, kontingent, speicher voll, überfüllt, speicherlimit, überschritten
    boîte pleine, boîte … pleine, boîte est pleine, boîte aux lettres pleine, espace insuffisant, espace de stockage, pleine
    buzón lleno, buzón … lleno, cuota, casilla llena, está llen, espacio insuficiente, sin espacio, casella piena, casella … piena, spazio esaurito, è piena
    mailbox is vol, postvak … vol, postbus … vol, opslaglimiet, caixa cheia, caixa … cheia, está cheia, cheia, armazenamento
    empfängerpostfach … voll, gebruiker is vol, caixa … lotada, postboks … full, postkasse … full, postkasse … fuld, brevlåda … full, kutusu dolu, kutusu … dolu, kotası … doldu, used up … space, allotted space, no room left
    переполнен, переполнена, превышен, нет места, недостаточно места, przepełnion, przekroczon, pełna, brak miejsca, schránka … plná, plná, postlåda full
    容量, いっぱい, 超過して, 邮箱已满, 已满, 空间不足, 信箱已滿, 已滿, 超出, 용량, 가득
  `,
  /** The mail server of the domain was not found. */
  unresolved: `
    host not found … try again, name server timeout, name server failure, server failure, servfail, temporary failure in name resolution, temporary name resolution
    temporary dns, dns lookup failure, dns failure, lookup did not complete, lookup timed out, dns problem, dns timeout, name servers … time out, name servers … timed out, cname lookup failed temporarily, unexpected name server reply, malformed name server reply, bad name server reply, malformed dns reply, malformed dns response
  `,
  /** A temporary failure: the server will retry, or has retried until its time limit. */
  later: `
    temporar, try again later, try again in, try again after, will try again, try later, aborted after, retry later, retry timeout, delivery time expired, message expired, envelope expired, message has expired, time expired, queue expire
    queue.expired, has been expired, delivery expired, message timed out, timed out, timeout, time-out, too long in queue, in the queue too long, queue too long, queued for too long
    could not be delivered within, couldn't be delivered within, within the time limit, delivery time limit, maximum time, maximum retr, retries exceeded, retry limit, retry count
    been trying to deliver, unable to deliver … for the last, connection refused, connection reset, connection lost, lost connection, connection was dropped
    connection timed, connection failed, could not connect, couldn't connect, cannot connect, unable to connect, failed to connect, connect failed, connection error, did not accept our request, did not accept our connect, socket error
    network is unreachable, network unreachable, no route to host, host is unreachable, host unreachable, unreachable host, host is down, not responding, did not respond, isn't responding, no response
    couldn't establish an smtp connection, wasn't able to establish an smtp connection, unable to establish, greylist, graylist, grey-list, gray-list, greylisted, deferred, too busy, is busy, server busy
    overload, resources unavailable, system not accepting, over capacity, delivery delayed, mail delayed, will be retried, will retry, still trying, keep trying, retry for, service currently unavailable
    vorübergehend, zeitüberschreitung, später, verzögert, provisoire, temporaire, va réessayer, allons réessayer, plus tard, volverá a intentar, volveremos a intentar, más tarde, riproverà, riproveremo, più tardi, tijdelijk, mais tarde
    временн, позже, tymczasow, później, 一時的, 再送します, 再送信します, 再送を試み, 再送信を試み, 再送中, しばらく, 稍后, 暂时, 超时, 稍後
  `,
  /** Refused because of the mail or our reputation. */
  refused: `
    spam, junk mail, junkmail, junk email, unsolicited, bulk mail, bulk email, blacklist, black list, black-list, blocklist, block list, block-list, denylist, blocked, block for, is listed, listed by,
    listed in … sbl, listed in … xbl, listed in … cbl, listed in … pbl, listed on, rbl, dnsbl, surbl, uribl, spamhaus, spamcop, senderbase, reputation, abuse, abusive, virus, infected, malware, worm, phish, suspicious, malicious, banned, harmful
    content reject, content filter, content denied, content … not allowed, message content, message rejected, message was rejected due, message refused, mail refused, rejected by … filter, filtered by
    policy, policies, prohibit, forbidden, not permitted, not allowed to send, not authorized, not authorised, unauthorized, not authenticated, unauthenticated, authenticat, spf, dkim, dmarc, dns record of
    reverse dns, rdns, ptr record, no ptr, helo, ehlo, forged, spoof, too many, rate limit, rate-limit, ratelimit, throttl, sending limit, sending quota, you have exceeded, volume of, excessive, exceeded the max, connections from, message limit, limit on
    access denied, access from, ip address, your ip, your host, your server, your network, your domain, client host, sending host, sending server, sending mta, attachment … not allowed, attachment … block, attachment … reject, attachment … forbidden, attachment type, contained … attachment, contained attachment, blocked attachment, banned attachment, attachments are not, executable, subject line
    message too large, message too big, message is too large, message is too big, too large, too big, message size, message exceeds, larger than, size limit for, exceeds size, exceeds maximum, exceeds fixed, message length, message file too big, bigger than, files of type … not allowed, file type … not allowed, mail size, size limit exceeded
    only accept, accepts mail only, network not allowed, host not allowed, recipient preferences, recipient's preferences, preferences of the, not whitelisted, whitelist, allowlist, challenge, unable to verify your, verify that you, tls, encrypt, must issue a starttls, security polic, security reason, security check, security filter, security setting, violat, complian, complaint, administratively, administrative prohibition, denied by, local policy
    spamverdacht, richtlinie, gesperrt, blockiert, abgewiesen wegen, zu groß, größer als, indésirable, politique, trop volumineu, bloqué, no deseado, bloquead, política, demasiado grande, indesiderat, criteri, troppo grande, geblokkeerd, te groot, ongewenst, muito grande, indesejad
    спам, заблокирован, отклонено, слишком больш, политик, niechcian, zablokowan, zbyt duż, polityk, 迷惑メール, 拒否, 制限, ブロック, ウイルス, 垃圾邮件, 垃圾郵件, 拒绝, 拒絕, 黑名单, 黑名單, 过大, 病毒, 스팸, 차단
  `,
  /** Refused because of the sender's address. */
  sender: `
    sender address, sender denied, sender rejected, sender domain, sender verif, sender is not, sender not, sender unknown, unknown sender, sender blocked, sender … rejected, sender … denied, sender does not, sender doesn't, sender … does not exist, sender … not found
    invalid sender, bad sender, sender invalid, sender's, sender id, sender must, sending domain, sender … unknown, no such sender, verify sender, verify the sender, not a valid sender, envelope sender, envelope-from, envelope from
    return path, return-path, reverse path, reverse-path, mail from command, mail from:, from address, from: address, from: domain, valid from:, from domain, from field, address of sender, domain of sender, callout verification, callback verification, originator
    absender, expéditeur, remitente, mittente, afzender, remetente, отправител, nadawc, 差出人, 送信者, 发件人, 發件人, 寄件者
  `,
  /** Relaying is denied. */
  relaying: `
    relaying denied, relay denied, relay access denied, relaying not, relaying is not, relaying mail, relay not permitted, relay is not, not allowed to relay, unable to relay, no relaying, cannot relay, can't relay, relay prohibited, relaying prohibited, allowed rcpthosts
    isn't in my list, we do not relay, don't relay, not relay, open relay, not a gateway, not a relay, mail relay denied
  `,
  /** The mail was not delivered. These words give no reason. */
  failed: `
    could not be delivered, couldn't be delivered, cannot be delivered, can't be delivered, not been delivered, not able to deliver, wasn't able to deliver, was not delivered, were not delivered, wasn't delivered, not delivered to, unable to deliver, could not deliver, cannot deliver, couldn't deliver
    delivery failed, failed to deliver, delivery … failed, failed permanently, permanent failure, permanent error, permanent fatal error, fatal error, undeliverable, undelivered, delivery failure, delivery status notification, mail delivery failed, returned mail, mail returned
    did not reach, not reach the following, delivery error, delivery attempt, following recipient, following address, has been rejected, failure notice, returning message to sender, returned to sender, failed addresses, failed recipient
    unzustellbar, nicht zugestellt, konnte nicht, zustellung … fehlgeschlagen, n'a pas pu être, n'a pas été remis, non remis, échec de la remise, non distribu, no se pudo entregar, no se ha podido entregar, no pudo ser entregado, no se entregó, error al entregar
    impossibile recapitare, non è stato possibile, mancato recapito, non recapitat, onbestelbaar, niet worden bezorgd, niet afgeleverd, não pôde ser, não foi possível, não foi entregue, falha na entrega, не доставлен, не может быть доставлено, не удалось доставить, невозможно доставить, недоставлен
    kunne ikke afleveres, kunne ikke leveres, kunde inte levereras, kon niet worden afgeleverd, kon niet afgeleverd worden, aflevering mislukt, nelze doručit, nebylo doručeno, nem kézbesíthető, ei voitu toimittaa, teslim edilemedi, nu a putut fi livrat
    nie mogła zostać, nie można dostarczyć, niedostarczon, nie dostarczono, niemożliw, 配信できません, 配信不能, 送信できません, 届けられません, お届けできません, 配達できません, エラーのため, 退信, 无法送达, 無法投遞, 投递失败, 系统退信, 未送达, 전송 실패, 배달되지
  `,
} as const satisfies Record<string, string>;

export type PhraseKind = keyof typeof phraseTable;
