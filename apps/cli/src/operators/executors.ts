import { setTimeout as pause } from 'node:timers/promises';
import { Draining, ExecutorPage, NamedExecutors, type Executor } from '@runledger/contracts/http/executors';
import type { Command } from 'commander';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { at, retryForAMinute } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, plain, shorten } from '../command/command-error.ts';
import { DEFAULT_LIMIT, listPages, type ListOptions } from '../command/list-pages.ts';
import { inColumns, rowLines, type Column, type Rows } from '../command/table.ts';

/** Commands for operators of the fleet. They call the run API with a key that has the scope operator. */
export const addExecutorCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program
    .command('executors')
    .description('the executors of runs (needs a key with the scope operator, as a standalone has)');
  add(group, 'list', 'list executors by name')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(withClient(listExecutors));
  add(group, 'show <executor>', 'show its slots with their runs, and its capabilities').action(
    withClient(async ({ call, screen }, name: string) => {
      const named = await call(NamedExecutors, { method: 'GET', path: at`/executors/${name}` });
      screen.result(named, ({ executors }) =>
        executors.flatMap((executor, index) => [
          ...(index > 0 ? [''] : []),
          ...rowLines(screen, executorRows(executor)),
        ]),
      );
    }),
  );
  add(group, 'drain <executor>', 'give it no new runs until it is resumed; its present runs continue')
    .option('--wait', 'wait until its last run has ended')
    .action(withClient(drainExecutor));
  add(group, 'resume <executor>', 'give it new runs again').action(withClient(resumeExecutor));
};

const listExecutors = ({ call, screen }: Client, options: ListOptions): Promise<void> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const page = await call(ExecutorPage, { method: 'GET', path: '/executors', query: { ...span } });
      return { items: page.executors, next_cursor: page.next_cursor };
    },
    ...inColumns(screen, executorColumns),
    none: 'There is no executor. Start one, and give it GPUs with EXECUTOR_GPUS.',
  });

const drainExecutor = async (
  client: Client,
  name: string,
  { wait = false }: { readonly wait?: boolean },
): Promise<void> => {
  const { call, screen } = client;
  const drained = await call(Draining, { method: 'POST', path: at`/executors/${name}/drain` });
  if (screen.isJson()) screen.printJson(drained);
  if (!drained.draining) throw resumedMeanwhile(name);
  if (!screen.isJson()) {
    screen.print(
      `Executor ${plain(name)} is drained. It gets no new runs, not even after a restart. ${runsThere(drained)}`,
    );
    screen.hint(`Resume it with: runledger executors resume ${plain(name)}`);
  }
  if (wait && drained.runs > 0) await waitUntilEmpty(client, drained);
};

const runsThere = ({ runs }: Draining): string =>
  runs === 0 ? 'It has no runs.' : `${counted(runs, 'run')} ${runs === 1 ? 'continues' : 'continue'}.`;

const resumeExecutor = async ({ call, screen }: Client, name: string): Promise<void> => {
  const resumed = await call(Draining, { method: 'POST', path: at`/executors/${name}/resume` });
  if (screen.isJson()) screen.printJson(resumed);
  if (resumed.draining) {
    throw new CommandError(`Executor ${plain(name)} was drained meanwhile. It gets no new runs.`);
  }
  if (!screen.isJson()) screen.print(`Executor ${plain(name)} is resumed. It gets new runs again.`);
};

const LONGEST_LIST = 60;

const executorColumns: readonly Column<Executor>[] = [
  { title: 'NAME', width: 20, of: ({ name }) => name },
  { title: 'STATE', width: 12, is: 'status', of: ({ state }) => state },
  { title: 'BUSY/FREE', width: 20, of: (executor) => slotWords(executor) },
  { title: 'RUNS', width: 4, of: (executor) => String(busyIn(executor.slots)).padStart(4) },
  { title: 'VERSION', width: 10, of: ({ software_version }) => software_version },
  { title: 'LAST HEARTBEAT', width: 24, is: 'time', of: ({ last_heartbeat_at }) => last_heartbeat_at },
  { title: 'MACHINES', width: 0, of: ({ machines }) => shorten(machines.join(','), LONGEST_LIST) },
];

const busyIn = (slots: Executor['slots']): number => slots.filter(({ run }) => run !== null).length;

/** Such as `A10G 1/1, H100 0/2`. */
const slotWords = ({ slots }: Executor): string | null => {
  const models = [...new Set(slots.map(({ gpu }) => gpu))];
  const words = models.map((gpu) => {
    const ofModel = slots.filter((slot) => slot.gpu === gpu);
    const busy = busyIn(ofModel);
    return `${gpu} ${busy}/${ofModel.length - busy}`;
  });
  return words.length === 0 ? null : words.join(', ');
};

/** One executor, a row for each member and slot. */
const executorRows = (executor: Executor): Rows => {
  const { drain, machines, machine_count, programs, program_count } = executor;
  return [
    ['name', executor.name],
    ['id', executor.executor_id],
    ['state', executor.state, 'status'],
    ['drained', drain && `${drain.requested_at} with the key ${drain.requested_by}`],
    ['version', executor.software_version],
    ['isolation', executor.isolation],
    ...executor.isolation_gaps.map((can): Rows[number] => ['a program can', can]),
    ['limits', executor.limits],
    ['since', executor.registered_at, 'time'],
    ['last heartbeat', executor.last_heartbeat_at, 'time'],
    ['machines', namesIn(machines, machine_count)],
    ['programs', namesIn(programs, program_count)],
    ['labels', namesIn(executor.labels, executor.labels.length)],
    ...executor.slots.map(slotRow),
  ];
};

const namesIn = (names: readonly string[], count: number): string | null => {
  if (names.length === 0) return null;
  const more = count - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
};

const slotRow = ({
  slot,
  gpu,
  loaded_workflow_version_id: loaded,
  run,
}: Executor['slots'][number]): readonly [string, string] => [
  `slot ${slot}`,
  `${gpu}, ${run === null ? 'free' : runWords(run)}${loaded === null ? '' : `; has workflow version ${loaded} loaded`}`,
];

const runWords = ({
  run_id,
  org_id,
  attempt,
  assigned_at,
  placement,
}: NonNullable<Executor['slots'][number]['run']>): string =>
  [
    `run ${run_id} of organisation ${org_id}, attempt ${attempt} since ${assigned_at}`,
    ...(placement === null ? [] : [placement.sentence]),
  ].join(', ');

const POLL_EVERY_MS = 1_000;

/** Prints how many runs are left on a drained executor, after each change, until no run is left. @throws CommandError */
const waitUntilEmpty = async ({ call, screen }: Client, { name, runs: first }: Draining): Promise<void> => {
  for (let before = first; before > 0;) {
    await pause(POLL_EVERY_MS);
    const read = () => call(NamedExecutors, { method: 'GET', path: at`/executors/${name}` });
    const { executors } = await retryForAMinute(read, screen);
    if (executors.some(({ drain }) => drain === null)) throw resumedMeanwhile(name);
    const runs = executors.flatMap(({ slots }) => slots).filter(({ run }) => run !== null).length;
    if (runs === before) continue;
    before = runs;
    screen.result({ name, draining: true, runs } satisfies Draining, () =>
      runs === 0 ? 'No run is left.' : `${counted(runs, 'run')} left.`,
    );
  }
};

const resumedMeanwhile = (name: string): CommandError =>
  new CommandError(`Executor ${plain(name)} was resumed meanwhile. It gets new runs again.`);
