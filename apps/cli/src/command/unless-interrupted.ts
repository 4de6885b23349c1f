import { EXIT } from '../output/command-error.ts';
import type { CommandContext } from './command-context.ts';

/** Executes what stops in order when it is interrupted. `what`: its result, which is not whole then. */
export const unlessInterrupted = async (
  { screen, untilInterrupted, end }: Pick<CommandContext, 'screen' | 'untilInterrupted' | 'end'>,
  what: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const signal = untilInterrupted();
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    screen.hint(`Interrupted. The ${what} is not whole.`);
    end(EXIT.cancelled);
  }
};
