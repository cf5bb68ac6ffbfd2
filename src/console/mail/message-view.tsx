import { useState } from "preact/hooks";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { CopyButton } from "../parts/command.tsx";
import { Icon } from "../parts/icon.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { StatusTag, Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";
import { AttachmentList } from "./attachment-list.tsx";
import { MessageFrame } from "./message-frame.tsx";
import { MessageSource } from "./message-source.tsx";
import { reasonsOf, VerdictTag } from "./verdict.tsx";

type Message = Schemas["ListedMessage"];
type Face = "html" | "text" | "agent" | "headers" | "raw";

const faces: readonly (readonly [Face, string])[] = [
  ["html", "HTML"],
  ["text", "Text"],
  ["agent", "Agent’s view"],
  ["headers", "Headers"],
  ["raw", "Raw"],
];

interface MessageViewProps {
  message: Message;
  isOpenAtFirst: boolean;
  onDelete(): void;
}

/** One message of a thread, collapsed to a line or open. */
export function MessageView({ message, isOpenAtFirst, onDelete }: MessageViewProps) {
  const [isOpen, setIsOpen] = useState(isOpenAtFirst);
  const { direction, fromName, fromAddr, cc } = message;
  const isOut = direction === "outbound";
  return (
    <section class={isOpen ? "message is-open" : "message"} aria-label={`Message from ${fromName ?? fromAddr}`}>
      <div class="message-head">
        <button type="button" class="message-fold" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          <span class={isOut ? "message-way is-out" : "message-way"}>
            <Icon name={isOut ? "out" : "in"} />
            <span class="unseen">{isOut ? "Sent: " : "Received: "}</span>
          </span>
          <span class="message-who">
            <span class="strong">{fromName ?? fromAddr}</span>
            {isOpen && fromName !== null && <span class="quiet-text"> {fromAddr}</span>}
          </span>
          {!isOpen && <span class="message-preview">{(message.extractedText ?? message.bodyText).slice(0, 160)}</span>}
        </button>
        {isOut && (
          <a class="message-fate" href={href(`messages/${message.id}`)} title="Delivery status">
            <StatusTag status={message.delivery?.state ?? message.status} />
          </a>
        )}
        <span class="message-when">
          <Time at={message.createdAt} />
        </span>
      </div>
      {isOpen && (
        <>
          <p class="message-to">
            <span>
              to {toOf(message).join(", ")}
              {cc.length > 0 && <> · cc {cc.join(", ")}</>}
            </span>
            {message.authentication && <VerdictTag authentication={message.authentication} />}
          </p>
          <MessageBody message={message} onDelete={onDelete} />
        </>
      )}
    </section>
  );
}

/** The addresses in the To field, or the inbox's own address if the mail has none, for example as a blind copy. */
export function toOf({ to, toAddr }: Pick<Schemas["ListedMessage"], "to" | "toAddr">): readonly string[] {
  return to.length === 0 ? [toAddr] : to;
}

function MessageBody({ message, onDelete }: Omit<MessageViewProps, "isOpenAtFirst">) {
  const [face, setFace] = useState<Face>("html");
  const [isWhole, setIsWhole] = useState(false);
  const hidesQuotes = !isWhole && hasQuotes(message);
  const fold = hasQuotes(message) && (
    <button type="button" class="link" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
      {isWhole ? "Hide" : "Show"} quotes and signature
    </button>
  );
  return (
    <>
      <div class="message-tools">
        <Tabs label="Shown as" choices={faces} chosen={face} onChoose={setFace} />
        <div class="actions">
          {may("send") && toOf(message).length + message.cc.length > 1 && (
            <a class="button small" href={href("compose", { thread: message.threadId, message: message.id, all: "1" })}>
              Reply to all
            </a>
          )}
          {may("send") && (
            <a class="button small" href={href("compose", { inbox: message.inboxId, forward: message.id })}>
              Forward
            </a>
          )}
          {may("manage") && (
            <button type="button" class="small" onClick={onDelete}>
              Delete
            </button>
          )}
        </div>
      </div>
      {face === "html" && (
        <MessageFrame message={message} hidesQuotes={hidesQuotes}>
          {fold}
        </MessageFrame>
      )}
      {face === "text" && (
        <>
          <pre class="message-text">{hidesQuotes ? message.extractedText : message.bodyText}</pre>
          {fold && <div class="paper-tools">{fold}</div>}
        </>
      )}
      {face === "agent" && <AgentView message={message} />}
      {(face === "headers" || face === "raw") && <MessageSource id={message.id} part={face} />}
      <AttachmentList messageId={message.id} attachments={message.attachments.filter(({ inline }) => !inline)} />
    </>
  );
}

/** Whether the message repeats an earlier one, or has a signature, behind what is new in it. */
function hasQuotes({ bodyText, bodyHtml, extractedText = bodyText, extractedHtml = bodyHtml }: Message): boolean {
  return bodyHtml === null ? extractedText.trim() !== bodyText.trim() : extractedHtml !== bodyHtml;
}

/** The fields of a message that a program acts on, as the API and the tools of MCP show them. */
function AgentView({ message }: { message: Message }) {
  const { direction, automated, authentication, codes = [], links = [], bodyText, extractedText = bodyText } = message;
  return (
    <dl class="facts agent">
      {direction === "inbound" && (
        <>
          <dt>automated</dt>
          <dd>{automated === null ? "no signs of a program" : `${automated.kind}: ${automated.reasons.join(", ")}`}</dd>
          <dt>verdict</dt>
          <dd>{authentication === null ? "not checked" : `${authentication.verdict}: ${reasonsOf(authentication)}`}</dd>
          <dt>codes</dt>
          <dd>
            {codes.length === 0 && "none"}
            {codes.map(({ code, domain }) => (
              <div key={code}>
                <code>{code}</code> {domain !== null && `for ${domain}`} <CopyButton text={code} what="Copy code" />
              </div>
            ))}
          </dd>
          <dt>links</dt>
          <dd>
            {links.length === 0 && "none"}
            {links.map(({ url, text, kind, misleading }) => (
              <div key={url}>
                {misleading && <Tag tone="bad">misleading</Tag>} {kind !== null && <strong>{kind}</strong>} {text}{" "}
                <code>{url}</code>
              </div>
            ))}
          </dd>
        </>
      )}
      <dt>new text</dt>
      <dd>
        <pre>{extractedText}</pre>
      </dd>
    </dl>
  );
}
