import { RedeliverResponse, RunRedelivery } from '@runledger/contracts/http/webhooks';
import { at } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import { counted } from '@runledger/contracts/counted';
import { checkOneOrFailed } from '../options/one-or-failed.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { MAX_PAGES_COUNTED, pages } from '../api-client/pages.ts';
import { plain } from '../output/plain-text.ts';
import { filterOf } from './deliveries.ts';
import type { FilterOptions } from './deliveries.ts';

export interface RedeliverOptions extends FilterOptions {
  readonly failed?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Sends one final notification again, or all failed ones. */
export const redeliver = async (
  client: Client,
  run: string | undefined,
  options: RedeliverOptions,
): Promise<ExitCode> => {
  const { failed = false, dryRun, host, createdAfter, createdBefore } = options;
  const filter = [dryRun, host, createdAfter, createdBefore];
  checkOneOrFailed({ command: 'redeliver', what: 'deliveries' }, { run, failed, filter });
  return run === undefined
    ? redeliverFailed(client, options)
    : redeliverOne(client, run, options.json ?? false);
};

const redeliverOne = async ({ call, screen }: Client, run: string, json: boolean): Promise<ExitCode> => {
  const answer = await call(RunRedelivery, { method: 'POST', path: at`/run/${run}/redeliver` });
  if (json) screen.printJson(answer);
  else
    screen.print(
      `The notification of run ${plain(answer.run_id)} is sent again. See it with: runledger deliveries ${plain(answer.run_id)}`,
    );
  return EXIT.done;
};

/** Goes through all pages once, so that each run is requested at most once, even if its receiver refuses again at once. */
const redeliverFailed = async ({ call, screen }: Client, options: RedeliverOptions): Promise<ExitCode> => {
  const dryRun = options.dryRun ?? false;
  const filter = filterOf(options, 'failed');
  const requestPage = (cursor: string | undefined) =>
    call(RedeliverResponse, {
      method: 'POST',
      path: '/webhooks/redeliver',
      body: { filter, dry_run: dryRun, cursor },
    });
  let complete = false;
  let [matched, requested] = [0, 0];
  try {
    for await (const page of pages(requestPage, dryRun ? MAX_PAGES_COUNTED : undefined)) {
      matched += page.matched;
      requested += page.requested;
      complete = page.next_cursor === null;
      screen.redraw(`${dryRun ? matched : requested} so far`);
    }
  } catch (error) {
    if (requested > 0)
      screen.hint(`${counted(requested, 'notification')} will be sent again. Then the command failed:`);
    throw error;
  }
  if (options.json) screen.printJson({ matched, requested, complete, dry_run: dryRun });
  else if (dryRun)
    screen.print(
      `${complete ? '' : 'At least '}${counted(matched, 'notification')} would be sent again. Nothing was changed.`,
    );
  else screen.print(`${counted(requested, 'notification')} will be sent again.`);
  if (!dryRun && matched > requested)
    screen.hint(
      `${matched - requested} of them could not be sent again, or need not be: see runledger webhooks --status failed.`,
    );
  return EXIT.done;
};
