import { QueuesPage } from '@runledger/contracts/http/queues';
import type { Pool } from '@runledger/contracts/requests/pools';
import type { Command } from 'commander';
import type { Client, CommandContext } from '../command/command-context.ts';
import { DEFAULT_LIMIT, listPages, type ListOptions } from '../command/list-pages.ts';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { deploymentNames } from '../catalogue/deployment-names.ts';
import { headLine, rowLine, type Column } from '../command/table.ts';

interface QueuesOptions extends ListOptions {
  readonly gpu?: string;
  readonly organisation?: string;
}

/** The queues of the installation, or of the organisation of the key. */
export const addQueuesCommand = (program: Command, { withClient, add }: CommandContext): void => {
  add(program, 'queues', 'show who waits for which GPUs (all organisations with the scope operator)')
    .option('--gpu <model>', 'only this GPU model')
    .option('--organisation <id>', 'only this organisation')
    .option('--limit <number>', 'print at most this many GPU models', DEFAULT_LIMIT)
    .action(withClient(listQueues));
};

const listQueues = (
  { call, screen }: Client,
  { gpu, organisation, ...options }: QueuesOptions,
): Promise<void> => {
  let names: ReadonlyMap<string, string> = new Map();
  return listPages(screen, options, {
    readPage: async (span) => {
      const query = { ...span, gpu: gpu?.toUpperCase(), organisation };
      const page = await call(QueuesPage, { method: 'GET', path: '/queues', query });
      if (!screen.isJson() && names.size === 0 && page.pools.some(hasDeployments))
        names = await deploymentNames(call);
      return { items: page.pools, next_cursor: page.next_cursor };
    },
    head: headLine(screen, columns),
    line: (pool) =>
      linesOf(pool, names)
        .map((line) => rowLine(screen, columns, line))
        .join('\n'),
    none: 'No run waits or executes, and there is no executor.',
  });
};

const hasDeployments = ({ organisations }: Pool): boolean =>
  organisations.some(({ deployments }) => deployments.length > 0);

/** Of a GPU model, or of an organisation or a deployment in it. */
interface Line {
  readonly gpu?: string;
  readonly who?: string;
  readonly slots?: string;
  readonly waiting?: number;
  readonly delayed?: number;
  readonly running?: number;
  readonly starts?: number;
  readonly oldest?: string | null;
}

const columns: readonly Column<Line>[] = [
  { title: 'GPU', width: 12, of: ({ gpu = '' }) => gpu },
  { title: 'ORGANISATION, ITS DEPLOYMENTS', width: 38, of: ({ who = '' }) => who },
  { title: 'BUSY/SLOTS', width: 10, of: ({ slots = '' }) => slots },
  { title: 'WAITING', width: 7, of: ({ waiting }) => number(waiting) },
  { title: 'DELAYED', width: 7, of: ({ delayed }) => number(delayed) },
  { title: 'RUNNING', width: 7, of: ({ running }) => number(running) },
  { title: 'STARTS/MIN', width: 10, of: ({ starts }) => number(starts) },
  { title: 'OLDEST QUEUED AT', width: 0, is: 'time', of: ({ oldest = '' }) => oldest },
];

const number = (value: number | undefined): string => value?.toString() ?? '';

/** What pools, organisations and deployments have. */
type Waiting = Pool['organisations'][number]['deployments'][number] | Pool['organisations'][number] | Pool;

/** The pool, then its organisations, each with its deployments below it. `names`: those of the caller's organisation; others are shown by id. */
const linesOf = (pool: Pool, names: ReadonlyMap<string, string>): Line[] => [
  {
    gpu: pool.gpu,
    slots: `${pool.busy_slots}/${pool.slots}`,
    ...countsOf(pool),
    starts: pool.starts_per_minute,
  },
  ...pool.organisations.flatMap((organisation): Line[] => [
    { who: organisation.org_id, ...countsOf(organisation), starts: organisation.starts_per_minute },
    ...organisation.deployments.map((one) => ({
      who: `- ${names.get(one.deployment_id) ?? one.deployment_id}`,
      ...countsOf(one),
    })),
    ...andMore('- ', organisation.more_deployments, 'deployment'),
  ]),
  ...andMore('', pool.more_organisations, 'organisation'),
];

const countsOf = ({ waiting, delayed, running, oldest_queued_at }: Waiting): Line => ({
  waiting,
  delayed,
  running,
  oldest: oldest_queued_at,
});

const andMore = (prefix: string, count: number, what: string): Line[] =>
  count === 0 ? [] : [{ who: `${prefix}and ${counted(count, `more ${what}`)}` }];
