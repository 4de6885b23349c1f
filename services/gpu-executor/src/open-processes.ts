import { join } from 'node:path';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { Environment } from '@runledger/service-kit/config';
import { cacheLimitsOf, limitsOf, type ExecutorConfig } from './config.ts';
import type { Egress } from './network/egress.ts';
import { openCaches } from './folders/caches.ts';
import { NO_TURNS, openTurns, type Turns } from './attempt/turns.ts';
import { hostEnvironment } from './supervision/process-environment.ts';
import type { GpuSlot } from './gpu-slots.ts';
import type { ConfiguredRunner, RunnerHost } from './runners/runner-type.ts';
import { chooseIsolation } from './isolation/choose-isolation.ts';
import { openSystemCalls } from './isolation/system-calls.ts';
import { describeIsolation } from './isolation/isolation.ts';
import { describeNetwork, networkHold, refuseUnheld } from './network/network-hold.ts';
import { chooseEnforcement, describeEnforcement } from './supervision/enforcement.ts';
import { openUsers, ownUser } from './isolation/users.ts';
import { openResidentProcesses } from './residents/resident-processes.ts';
import { checkViews, withheldFrom } from './view/program-view.ts';
import { tryIsolation, type Tried } from './probe/probe-isolation.ts';
import { openSupervisors } from './supervision/supervisors.ts';
import { mustBeReached, openWorkFolder } from './folders/work-folder.ts';

/** The part of the time for a stop that processes between runs have to end before they are killed. */
const RESIDENTS_STOP_WITHIN = 0.2;

interface ExecutorProcess {
  readonly config: ExecutorConfig;
  /** Of the executor, over its restarts. */
  readonly name: string;
  /** Of the process: variables that end in _FILE name files with secrets. */
  readonly env: Environment;
  readonly log: Logger;
}

/** What starts processes, and what they get. */
export const openProcesses = async (
  { config, name, env, log }: ExecutorProcess,
  {
    slots,
    runners,
    egress: { proxy, fetchModel },
  }: {
    readonly slots: readonly GpuSlot[];
    readonly runners: readonly ConfiguredRunner[];
    readonly egress: Egress;
  },
  open: AsyncDisposableStack,
): Promise<{
  readonly host: RunnerHost;
  readonly stopWithinMs: number;
  readonly tried: Tried;
  readonly turns: Turns;
}> => {
  const isWanted = config.EXECUTOR_ISOLATION !== 'off';
  const runAs = config.EXECUTOR_RUN_AS;
  const users = isWanted || runAs !== undefined ? await openUsers(runAs) : ownUser;
  const { path: workFolder, mark } = await openWorkFolder(config.EXECUTOR_WORK_DIR, log, users);
  const secrets = [...config.EXECUTOR_HIDDEN, ...secretFiles(env)];
  // What runs left there for later ones is hidden wherever it is, as below /opt, of which programs see the rest.
  const hidden = [...secrets, workFolder];
  const isolation = await chooseIsolation({ isWanted, path: config.PATH, hidden, users });
  mustBeReached(workFolder, isolation);
  log[networkHold(isolation) === 'none' ? 'warn' : 'info']({}, describeNetwork(isolation));
  const entries = runners.flatMap((runner) => runner.entries);
  refuseUnheld(isolation, entries);
  const enforcement = chooseEnforcement(log);
  log.info({ limits: limitsOf(config), held_by: enforcement.kind }, describeEnforcement(enforcement, users));
  // Its memory and environment have its key.
  if (isWanted) openSystemCalls().hideProcess();
  const { PATH: path } = config;
  const withheld = withheldFrom(entries, hidden);
  for (const missed of checkViews(entries, isolation, withheld)) log.warn({}, missed);
  const caches = open.use(openCaches({ ...cacheLimitsOf(config), workFolder, users, log }));
  const limits = limitsOf(config);
  const settings = { isolation, withheld, enforcement, limits, caches, proxy, mark, path, workFolder, log };
  const { tried, takesTurns } = await tryIsolation(
    { supervisors: settings, secretFiles: [...secrets, join(workFolder, 'owner')] },
    config.EXECUTOR_ISOLATION,
  );
  log[tried.isolation === 'strong' ? 'info' : 'warn'](tried, describeIsolation(isolation));
  if (takesTurns) log.warn({}, TAKE_TURNS);
  const supervisors = open.use(openSupervisors(settings));
  const cancelGraceMs = config.EXECUTOR_CANCEL_GRACE_S * 1_000;
  const stopWithinMs = config.RUNLEDGER_STOP_WITHIN_S * 1_000;
  const stopGraceMs = Math.min(cancelGraceMs, stopWithinMs * RESIDENTS_STOP_WITHIN);
  const processes = { env: hostEnvironment(config, slots.length), workFolder, supervisors, mark, log };
  const residents = open.use(openResidentProcesses({ ...processes, stopGraceMs }));
  const turns = takesTurns ? openTurns(() => residents.endUnshared()) : NO_TURNS;
  const host = { ...processes, slots, residents, fetchModel, cancelGraceMs, executorName: name };
  return { host, stopWithinMs, tried, turns };
};

const TAKE_TURNS =
  'programs of all organisations have one user, so organisations take turns on this executor: a run waits until the programs of another organisation have ended. ' +
  'Start it as root, without EXECUTOR_RUN_AS, or where it may make user namespaces, and they run at once';

/** The files with the secrets of the executor, as settings name them. */
const secretFiles = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, path]) => (name.endsWith('_FILE') && path !== undefined ? [path] : []));
