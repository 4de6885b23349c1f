import { listedLine, standingSentence, tryLine } from '../describe-delivery.ts';
import { EXIT, Explained } from '../explained.ts';
import type { ExitCode } from '../explained.ts';
import { plain } from '../plain-text.ts';
import type { DeliveryFilter } from '../run-api.ts';
import type { Client } from './run-commands.ts';

/** More than a delivery has; many redeliveries may have more. */
const MOST_LINES = 100;
const PAGE = 100;
const MOST_LISTED = 10_000;

/** Shows each try to notify of a run, and where the delivery stands. */
export const showDeliveries = async (
  { api, screen }: Client,
  run: string,
  json: boolean,
): Promise<ExitCode> => {
  const read = await api.deliveries(run);
  if (json) {
    screen.printJson(read);
    return EXIT.done;
  }
  if (read.webhook !== null) screen.print(`webhook  ${plain(read.webhook)}`);
  if (read.intermediate !== null) screen.print(tryLine(read.intermediate, 'on the way'));
  const shown = read.tries.slice(-MOST_LINES);
  const hidden = read.tries.length - shown.length;
  if (hidden > 0) screen.hint(`${hidden} earlier tries are left out; --json has them all.`);
  for (const made of shown) screen.print(tryLine(made));
  screen.print(standingSentence(read));
  return EXIT.done;
};

export interface FilterOptions {
  readonly host?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
}

export const filterOf = (
  { host, createdAfter, createdBefore }: FilterOptions,
  status: string | undefined,
): DeliveryFilter => ({
  ...(status === undefined ? {} : { status }),
  ...(host === undefined ? {} : { host }),
  ...(createdAfter === undefined ? {} : { created_after: createdAfter }),
  ...(createdBefore === undefined ? {} : { created_before: createdBefore }),
});

export interface ListOptions extends FilterOptions {
  readonly status?: string;
  readonly limit: string;
  readonly json?: boolean;
}

/** Lists runs with a webhook, page after page until there are enough. */
export const listDeliveries = async ({ api, screen }: Client, options: ListOptions): Promise<ExitCode> => {
  const limit = readLimit(options.limit);
  const filter = filterOf(options, options.status);
  let cursor: string | null = null;
  let listed = 0;
  do {
    const page = await api.listDeliveries({
      ...filter,
      limit: Math.min(PAGE, limit - listed),
      ...(cursor === null ? {} : { cursor }),
    });
    for (const delivery of page.deliveries)
      if (options.json) screen.printJson(delivery);
      else screen.print(listedLine(delivery));
    listed += page.deliveries.length;
    if (page.next_cursor !== null && page.next_cursor === cursor)
      throw new Explained('The service gave the same page again. What is listed above is all that it gave.');
    cursor = page.next_cursor;
  } while (cursor !== null && listed < limit);
  if (options.json) return EXIT.done;
  if (listed === 0) screen.hint('No run with a webhook is like that.');
  if (cursor !== null) screen.hint(`There are more than ${listed}: see them with a higher --limit.`);
  return EXIT.done;
};

const readLimit = (text: string): number => {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MOST_LISTED) return limit;
  throw new Explained(
    `--limit ${plain(text)} is no number from 1 to ${MOST_LISTED}. Use --created-before to go on from there.`,
  );
};
