import { EXIT, Explained } from '../explained.ts';
import type { ExitCode } from '../explained.ts';
import { plain } from '../plain-text.ts';
import { filterOf } from './deliveries.ts';
import type { FilterOptions } from './deliveries.ts';
import type { Client } from './run-commands.ts';

/** A receiver that refuses at once could otherwise be asked for ever. */
const MOST_PASSES = 100;

export interface RedeliverOptions extends FilterOptions {
  readonly failed?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Sends a final notification again, or all those that were given up. */
export const redeliver = async (
  client: Client,
  run: string | undefined,
  options: RedeliverOptions,
): Promise<ExitCode> => {
  const { failed, dryRun, host, createdAfter, createdBefore } = options;
  if (run === undefined) {
    if (failed) return redeliverFailed(client, options);
    throw new Explained(
      'Nothing to send again was named: runledger redeliver RUN, or runledger redeliver --failed for all that were given up.',
    );
  }
  if ([failed, dryRun, host, createdAfter, createdBefore].some((option) => option !== undefined))
    throw new Explained(
      'A run and a filter were both given. Name the run alone, or leave it out and use --failed.',
    );
  return redeliverOne(client, run, options.json ?? false);
};

const redeliverOne = async ({ api, screen }: Client, run: string, json: boolean): Promise<ExitCode> => {
  const answer = await api.redeliver(run);
  if (json) screen.printJson(answer);
  else
    screen.print(
      `The notification of run ${plain(answer.run_id)} is sent again. See it with: runledger deliveries ${plain(answer.run_id)}`,
    );
  return EXIT.done;
};

const redeliverFailed = async ({ api, screen }: Client, options: RedeliverOptions): Promise<ExitCode> => {
  const dryRun = options.dryRun ?? false;
  const filter = filterOf(options, 'failed');
  let [matched, requested, more] = [0, 0, false];
  try {
    for (let passes = 1; passes <= MOST_PASSES; passes += 1) {
      const answer = await api.redeliverMany(filter, dryRun);
      matched += answer.matched;
      requested += answer.requested;
      ({ more } = answer);
      // Nothing would be different the next time.
      if (dryRun || !more || answer.requested === 0) break;
      screen.redraw(`${requested} so far`);
    }
  } catch (error) {
    if (requested > 0) screen.hint(`${counted(requested)} will be sent again; then this came in between:`);
    throw error;
  }
  if (options.json) screen.printJson({ matched, requested, more, dry_run: dryRun });
  else if (dryRun)
    screen.print(`${more ? 'At least ' : ''}${counted(matched)} would be sent again. Nothing was changed.`);
  else screen.print(`${counted(requested)} will be sent again.`);
  if (!dryRun && more)
    screen.hint(
      'There are more that could not be asked for now: see them with runledger webhooks --status failed.',
    );
  return EXIT.done;
};

const counted = (count: number): string => `${count} notification${count === 1 ? '' : 's'}`;
