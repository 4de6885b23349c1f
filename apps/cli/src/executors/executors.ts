import { Draining, ExecutorPage, NamedExecutors } from '@runledger/contracts/http/executors';
import type { Command } from 'commander';
import { at } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import { counted } from '@runledger/contracts/counted';
import { EXIT, CommandError } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { DEFAULT_LIMIT, listPages } from '../command/list-pages.ts';
import type { ListOptions } from '../command/list-pages.ts';
import { plain } from '../output/plain-text.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { headLine, printRows, rowLine } from '../output/table.ts';
import { executorColumns, executorRows } from './describe-executor.ts';
import { resumedMeanwhile, waitUntilEmpty } from './wait-until-empty.ts';

interface DrainOptions extends Json {
  readonly wait?: boolean;
}

/** Commands for operators of the fleet. They call the run API with a key that has the scope operator. */
export const addExecutorCommands = (program: Command, { client, end, add }: CommandContext): void => {
  const group = program
    .command('executors')
    .description('the executors of runs (needs a key with the scope operator, as a standalone has)');
  add(group, 'list', 'list executors by name')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: ListOptions) => end(await listExecutors(await client(), options)));
  add(group, 'show <executor>', 'show its slots with their runs, and its capabilities').action(
    async (name: string, { json = false }: Json) => end(await showExecutor(await client(), name, json)),
  );
  add(group, 'drain <executor>', 'give it no new runs until it is resumed; its present runs continue')
    .option('--wait', 'wait until its last run has ended')
    .action(async (name: string, options: DrainOptions) =>
      end(await drainExecutor(await client(), name, options)),
    );
  add(group, 'resume <executor>', 'give it new runs again').action(
    async (name: string, { json = false }: Json) => end(await resumeExecutor(await client(), name, json)),
  );
};

const listExecutors = ({ call, screen }: Client, options: ListOptions): Promise<ExitCode> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const page = await call(ExecutorPage, { method: 'GET', path: '/executors', query: { ...span } });
      return { items: page.executors, next_cursor: page.next_cursor };
    },
    head: headLine(screen, executorColumns),
    line: (executor) => rowLine(screen, executorColumns, executor),
    none: 'There is no executor. Start one, and give it GPUs with EXECUTOR_GPUS.',
  });

const showExecutor = async ({ call, screen }: Client, name: string, json: boolean): Promise<ExitCode> => {
  const named = await call(NamedExecutors, { method: 'GET', path: at`/executors/${name}` });
  if (json) screen.printJson(named);
  else
    for (const [index, executor] of named.executors.entries()) {
      if (index > 0) screen.print('');
      printRows(screen, executorRows(executor));
    }
  return EXIT.done;
};

const drainExecutor = async (
  client: Client,
  name: string,
  { wait = false, json = false }: DrainOptions,
): Promise<ExitCode> => {
  const { call, screen } = client;
  const drained = await call(Draining, { method: 'POST', path: at`/executors/${name}/drain` });
  if (json) screen.printJson(drained);
  if (!drained.draining) throw resumedMeanwhile(name);
  if (!json) {
    screen.print(
      `Executor ${plain(name)} is drained. It gets no new runs, not even after a restart. ${runsThere(drained)}`,
    );
    screen.hint(`Resume it with: runledger executors resume ${plain(name)}`);
  }
  if (wait && drained.runs > 0) await waitUntilEmpty(client, drained, json);
  return EXIT.done;
};

const runsThere = ({ runs }: Draining): string =>
  runs === 0 ? 'It has no runs.' : `${counted(runs, 'run')} ${runs === 1 ? 'continues' : 'continue'}.`;

const resumeExecutor = async ({ call, screen }: Client, name: string, json: boolean): Promise<ExitCode> => {
  const resumed = await call(Draining, { method: 'POST', path: at`/executors/${name}/resume` });
  if (json) screen.printJson(resumed);
  if (resumed.draining) {
    throw new CommandError(`Executor ${plain(name)} was drained meanwhile. It gets no new runs.`);
  }
  if (!json) screen.print(`Executor ${plain(name)} is resumed. It gets new runs again.`);
  return EXIT.done;
};
