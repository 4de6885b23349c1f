import { unlessAborted } from '@runledger/resilience/abort';

export interface StepCommands extends AsyncDisposable {
  /** The next line of a person, without spaces around it; undefined at the end of the input. @throws the signal's reason */
  readonly next: () => Promise<string | undefined>;
}

/** No command is longer: the rest of a line is dropped. */
const MAX_LINE = 1_000;

/** Reads lines as they are wanted. The input is not touched before the first. */
export const commandsFrom = (stdin: AsyncIterable<Uint8Array>, signal: AbortSignal): StepCommands => {
  const lines = linesOf(stdin);
  return {
    next: async () => {
      const { value, done } = await unlessAborted(lines.next(), signal);
      return done ? undefined : value.trim();
    },
    [Symbol.asyncDispose]: async () => {
      // While a line is awaited it would wait for that line.
      if (!signal.aborted) await lines.return(undefined);
    },
  };
};

async function* linesOf(stdin: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stdin) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    yield* lines;
  }
  if (rest !== '') yield rest;
  return undefined;
}
