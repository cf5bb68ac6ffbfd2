/** The job, one run at a time: what asks for it while it runs is answered by one more run behind it. */
export function oneAtATime(job: () => Promise<void>): () => void {
  let isRunning = false;
  let isAskedAgain = false;
  async function run(): Promise<void> {
    isRunning = true;
    try {
      do {
        isAskedAgain = false;
        await job();
      } while (isAskedAgain);
    } finally {
      isRunning = false;
    }
  }
  return () => {
    if (isRunning) isAskedAgain = true;
    else void run();
  };
}
