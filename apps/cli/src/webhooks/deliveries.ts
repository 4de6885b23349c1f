import { ANSWER_WITHIN_MS, at } from '../api-client/api-call.ts';
import { DeliveriesPage, RunDeliveries } from '../api-client/delivery-responses.ts';
import type { Client } from '../api-client/client.ts';
import { listedColumns, deliveryStateSentence, attemptColumns } from './describe-delivery.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { listPages } from '../command/list-pages.ts';
import type { ListOptions } from '../command/list-pages.ts';
import { plain } from '../output/plain-text.ts';
import { headLine, printTable, rowLine } from '../output/table.ts';

/** More lines than one delivery has. Many redeliveries may have more. */
const MAX_LINES = 100;

/** Shows the delivery attempts of a run, and the state of the delivery. */
export const showDeliveries = async (
  { call, screen }: Client,
  run: string,
  json: boolean,
): Promise<ExitCode> => {
  const read = await call(RunDeliveries, { method: 'GET', path: at`/run/${run}/deliveries` });
  if (json) {
    screen.printJson(read);
    return EXIT.done;
  }
  if (read.webhook !== null) screen.print(`webhook  ${plain(read.webhook)}`);
  const shown = read.tries.slice(-MAX_LINES);
  const hidden = read.tries.length - shown.length;
  if (hidden > 0) screen.hint(`${hidden} earlier delivery attempts are left out; --json shows all.`);
  const intermediate = read.intermediate === null ? [] : [{ ...read.intermediate, intermediate: true }];
  printTable(screen, attemptColumns, { items: [...intermediate, ...shown], json: false });
  screen.print(deliveryStateSentence(read));
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
): Readonly<Record<string, string | undefined>> => ({
  status,
  host,
  created_after: createdAfter,
  created_before: createdBefore,
});

export interface DeliveryListOptions extends FilterOptions, ListOptions {
  readonly status?: string;
}

/** Lists runs with a webhook, newest first. */
export const listDeliveries = ({ call, screen }: Client, options: DeliveryListOptions): Promise<ExitCode> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const page = await call(DeliveriesPage, {
        method: 'GET',
        path: '/webhooks/deliveries',
        query: { ...filterOf(options, options.status), ...span },
        answerWithinMs: ANSWER_WITHIN_MS,
      });
      return { items: page.deliveries, next_cursor: page.next_cursor };
    },
    head: headLine(screen, listedColumns),
    line: (listed) => rowLine(screen, listedColumns, listed),
    none: 'No run with a webhook matches.',
    further: 'Use --created-before to continue.',
  });
