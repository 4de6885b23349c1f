import { CommandError } from '../output/command-error.ts';

/** For a command on one run, or with `--failed` on all that a filter finds. @throws CommandError when neither or both are meant */
export const checkOneOrFailed = (
  { command, what }: { readonly command: string; readonly what: string },
  { run, failed, filter }: OneOrFailed,
): void => {
  if (run === undefined && !failed)
    throw new CommandError(
      `No run was given. Use runledger ${command} RUN, or runledger ${command} --failed for all failed ${what}.`,
    );
  if (run !== undefined && (failed || filter.some((option) => option !== undefined)))
    throw new CommandError(
      'A run and a filter exclude each other. Name only the run, or use --failed without one.',
    );
};

interface OneOrFailed {
  readonly run: string | undefined;
  readonly failed: boolean;
  /** The options of the filter. */
  readonly filter: readonly unknown[];
}
