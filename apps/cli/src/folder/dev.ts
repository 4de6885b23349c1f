import { EventEmitter, once } from 'node:events';
import { userInfo } from 'node:os';
import { basename, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CancelRunResponse } from '@runledger/contracts/http/runs/run';
import type { Command } from 'commander';
import { at, Nothing } from '../api/api-call.ts';
import { deployed, type Result } from '../catalogue/deploy.ts';
import type { DeployOptions } from '../catalogue/workflow-file.ts';
import { patchRecord } from '../catalogue/records.ts';
import { versionsOf } from '../catalogue/workflows.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { definedIn } from '../catalogue/deployment-settings.ts';
import { gpuOption } from '../catalogue/machines.ts';
import { logs } from '../runs/logs.ts';
import { addInputOptions } from '../runs/run-commands.ts';
import { queueRun } from '../runs/single-run.ts';
import type { InputOptions } from '../runs/run-inputs.ts';
import { watchRun } from '../runs/watch-run.ts';

interface DevOptions extends InputOptions, Pick<DeployOptions, 'gpu' | 'machine' | 'name'> {
  /** With whom the deployment is not shared. */
  readonly as?: string;
}

/** The command for who changes a folder and wants to see what it does. */
export const addDevCommand = (
  program: Command,
  { withClient, add, untilInterrupted }: CommandContext,
): void => {
  addInputOptions(
    add(
      program,
      'dev [path]',
      'deploy each change of a folder to a deployment of your own, and with inputs run it; until Ctrl-C',
    )
      .option('--name <name>', 'of the deployment, before the @; by default what the folder says')
      .option('--as <name>', 'whose deployment it is, behind the @; by default the name of your user here')
      .addOption(gpuOption())
      .option('--machine <machine>', 'an existing machine, instead of one of its own'),
  ).action(
    withClient((client, path: string | undefined, options: DevOptions) =>
      dev(client, resolve(client.cwd, path ?? '.'), options, untilInterrupted()),
    ),
  );
};

const dev = async (client: Client, folder: string, options: DevOptions, stop: AbortSignal): Promise<void> => {
  const { screen } = client;
  const changes = await changesOf(folder, stop);
  let isFirst = true;
  do {
    const version = await deployChange(client, folder, options);
    if (version === undefined && isFirst) screen.hint('Change the folder, and it is tried again.');
    if (version !== undefined && (isFirst || version.isNew))
      await runOnce(client, version.name, options, changes);
    if (isFirst) screen.hint(`Watching ${plain(basename(folder))}. Ctrl-C ends it; the deployment stays.`);
    isFirst = false;
  } while (await changes.next());
};

interface DeployedChange {
  readonly name: string;
  readonly isNew: boolean;
}

/** Undefined when it is refused: the next change is another try. */
const deployChange = async (
  client: Client,
  folder: string,
  { name, gpu, machine, as = userInfo().username }: DevOptions,
): Promise<DeployedChange | undefined> => {
  const { screen } = client;
  if (/^\d*$/.test(as))
    throw new CommandError(
      'A name with digits only behind the @ would mean a version. Give another one with --as NAME.',
    );
  const began = performance.now();
  const options = definedIn({ name, gpu, machine });
  try {
    const { deployedFolder } = await import('./deployed-folder.ts');
    const deployable = await deployedFolder(client, folder, options);
    const own = { ...deployable, name: `${deployable.name}@${as}` };
    const result = await deployed(client, own, options);
    const isNew = result.version.outcome === 'new';
    if (isNew) void removeOld(client, result.workflow.id ?? '').catch(() => undefined);
    if (isNew) screen.hint(sentence(own.name, result, performance.now() - began));
    return { name: own.name, isNew };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    screen.hint(error.message);
    return undefined;
  }
};

/** So many versions stay: each change makes one, and an organisation has a number of records. */
const KEPT = 20;

/** Those before are archived, and removed when nothing needs them: by a later change, since the service waits for a minute. */
const removeOld = async ({ call }: Client, workflow_id: string): Promise<void> => {
  const versions = versionsOf(workflow_id);
  const { path, readPage } = versions;
  const read = (archived: boolean) =>
    readPage(call, { method: 'GET', path, query: { archived, limit: 100 } });
  const [present, archived] = await Promise.all([read(false), read(true)]);
  // One that a run in progress has stays until a later change.
  for (const { id } of present.items.slice(KEPT))
    await patchRecord(call, versions, id, { archived: true }).catch(() => undefined);
  for (const { id } of archived.items)
    await call(Nothing, { method: 'DELETE', path: `${path}/${id}` }).catch(() => undefined);
};

const sentence = (name: string, { version, code }: Result, ms: number): string =>
  `${plain(name)} has version ${version.name} after ${(ms / 1_000).toFixed(1)} s. ${code?.lines.slice(0, -1).join(' ') ?? ''}`.trimEnd();

/** A change of the folder ends the run, whose result nobody wants any more. */
const runOnce = async (
  client: Client,
  deployment: string,
  options: DevOptions,
  changes: Changes,
): Promise<void> => {
  const { screen, call } = client;
  if (options.input.length === 0 && options.inputs === undefined) return;
  try {
    const { run_id } = await queueRun(client, { ...options, deployment });
    const over = new AbortController();
    const cancelled = changes.untilNext(over.signal).then(async (isChanged) => {
      if (isChanged) await call(CancelRunResponse, { method: 'POST', path: at`/run/${run_id}/cancel` });
    });
    await logs(client, run_id, { follow: true });
    await watchRun(client, run_id);
    over.abort();
    await cancelled;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    screen.hint(error.message);
  }
};

interface Changes {
  /** Waits until something in the folder has changed since the last call, and no more changes come. False at the end. */
  next(): Promise<boolean>;
  /** The same, and the change still counts for `next`. False when the signal is aborted first. */
  untilNext(signal: AbortSignal): Promise<boolean>;
}

/** Editors write a file in several steps. */
const QUIET_MS = 80;

/** @throws when the folder cannot be watched, such as for a limit of the system */
const changesOf = async (folder: string, stop: AbortSignal): Promise<Changes> => {
  const [{ watch }, { NEVER }] = await Promise.all([import('chokidar'), import('./folder-files.ts')]);
  const events = new EventEmitter();
  const seen = { isNew: false, lastMs: 0 };
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: (path) =>
      relative(folder, path)
        .split('/')
        .some((name) => NEVER.has(name)),
  });
  stop.addEventListener('abort', () => void watcher.close(), { once: true });
  await once(watcher, 'ready', { signal: stop });
  watcher.on('all', () => {
    Object.assign(seen, { isNew: true, lastMs: performance.now() });
    events.emit('change');
  });
  const untilNext: Changes['untilNext'] = async (signal) => {
    const until = AbortSignal.any([signal, stop]);
    if (!seen.isNew) await once(events, 'change', { signal: until }).catch(() => undefined);
    return seen.isNew && !until.aborted;
  };
  return {
    untilNext,
    next: async () => {
      if (!(await untilNext(stop))) return false;
      for (let left = QUIET_MS; left > 0; left = seen.lastMs + QUIET_MS - performance.now())
        await pause(left);
      seen.isNew = false;
      return true;
    },
  };
};
