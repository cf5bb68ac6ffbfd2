/** A question to the judge of a test. */
export interface Question {
  path: string;
  headers: Headers;
  body: Buffer;
}

/** The answer of a judge: a JSON value, a response, or undefined for none ever. */
type Verdict = object | Response | undefined;

export interface TestJudge extends AsyncDisposable {
  url: URL;
  questions: Question[];
  /** Decides what the judge answers. By default it takes all mail. */
  answers(answer: (question: Question) => Verdict): void;
}

/** A judge of inbound mail on a real socket. */
export async function startJudge(): Promise<TestJudge> {
  const questions: Question[] = [];
  let answer: (question: Question) => Verdict = () => ({ action: "take" });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const body = Buffer.from(await request.arrayBuffer());
      const question = { path: new URL(request.url).pathname, headers: request.headers, body };
      questions.push(question);
      const said = answer(question);
      if (said === undefined) return new Promise<Response>(() => undefined);
      return said instanceof Response ? said : Response.json(said);
    },
  });
  return {
    url: server.url,
    questions,
    answers(next) {
      answer = next;
    },
    [Symbol.asyncDispose]: async () => server.stop(true),
  };
}
