import { join } from 'node:path';
import { newAttemptKeys } from '@runledger/contracts/attempt-token';
import { executorId, executorName, type ExecutorId } from '@runledger/contracts/ids';
import { ConsumerTakenOver, NewerVersion, type Consumption } from '@runledger/event-log/follow/consume';
import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondToKeepReady } from '@runledger/request-reply/ready-slots';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { runConfiguredService, type ServiceBase } from '@runledger/service-kit/configured-service';
import { capabilityProblems, readCapabilities } from './capabilities.ts';
import { cacheLimitsOf, configSchema, limitsOf, readExecutorConfig, type ExecutorConfig } from './config.ts';
import { openCaches } from './folders/caches.ts';
import { NO_TURNS, openTurns, type Turns } from './attempt/turns.ts';
import { newExecutorId, type FleetPresence, retire } from './fleet-presence.ts';
import { hostEnvironment } from './supervision/process-environment.ts';
import type { GpuSlot } from './gpu-slots.ts';
import type { Executor } from './attempt/executor.ts';
import { consumeAddressed, redriveAddressed } from './attempt/executor-log.ts';
import { openExecutor } from './open-executor.ts';
import { openEgress, type Egress } from './network/egress.ts';
import { openFleetPresence } from './open-fleet-presence.ts';
import { openRunners } from './runners/runner-registry.ts';
import { openReadyKeeper } from './code/keep-ready.ts';
import type { ConfiguredRunner, RunnerFor, RunnerHost } from './runners/runner-type.ts';
import { chooseIsolation } from './isolation/choose-isolation.ts';
import { openSystemCalls } from './isolation/system-calls.ts';
import { describeIsolation } from './isolation/isolation.ts';
import { describeNetwork, networkHold, refuseUnheld } from './network/network-hold.ts';
import { chooseEnforcement, describeEnforcement } from './supervision/enforcement.ts';
import { openUsers, ownUser } from './isolation/users.ts';
import { openResidentProcesses } from './residents/resident-processes.ts';
import { checkViews, withheldFrom } from './view/program-view.ts';
import { tryIsolation, type Tried } from './probe/probe-isolation.ts';
import { devicesForView } from './card-devices.ts';
import { openSupervisors } from './supervision/supervisors.ts';
import { mustBeReached, openWorkFolder } from './folders/work-folder.ts';

const start = async (
  base: ServiceBase<ExecutorConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<{ executor_id: string }> => {
  const { config, instance, logger, metrics, checks } = base;
  const executor_id = executorId(instance);
  const { PATH, CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH } = config;
  const capabilities = await readyCapabilities(
    config,
    { PATH, CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH },
    logger,
  );
  const { slots, runners } = capabilities;
  const egress = openEgress(base, open);
  const { host, stopWithinMs, tried, turns } = await openProcesses(base, { slots, runners, egress }, open);
  const { workFolder, cancelGraceMs } = host;
  const heldBy = { ...tried, limits: host.supervisors.enforcement.kind };
  logger.info({ slots, runners }, 'the capabilities of this executor');

  const waits = waitsForConsumer(checks);
  // It may read no stream, only what is addressed to it.
  const log = await openServiceLog({ ...base, streams: [] }, open, stopping);
  const keys = await newAttemptKeys();
  const [abandon, disconnected] = [new AbortController(), new AbortController()];
  const runnerFor = openRunners(runners, host);
  const { executor, terms, counts } = openExecutor(log, {
    executor_id,
    slots,
    runnerFor,
    workFolder,
    turns,
    keys,
    gateway: new URL(config.RUNLEDGER_GATEWAY_URL),
    workflowCacheBytes: config.EXECUTOR_WORKFLOW_CACHE_BYTES,
    inputFiles: egress.inputFiles,
    heldBy,
    metrics,
    closing: abandon.signal,
    disconnected: disconnected.signal,
  });
  const consumption = open.use(await consumeAddressed(log, executor_id, executor.handle, stopping, waits));
  open.use(redriveAddressed(log, executor_id, executor.handle));
  open.use(keepReady(log, { executor_id, executor, runnerFor, slots, config, turns }));
  const presenceOptions = {
    executor_id,
    capabilities,
    serving: { machines: config.EXECUTOR_MACHINES, labels: config.EXECUTOR_LABELS },
    publicKey: keys.publicKey,
    heldBy,
    periodMs: config.RUNLEDGER_HEARTBEAT_PERIOD_S * 1_000,
    executor,
    terms,
    residents: host.residents,
    prepared: () => runnerFor({ kind: 'code' })?.prepared?.() ?? [],
    onHeartbeat: counts.heartbeat,
  };
  const presence = await openFleetPresence(log, presenceOptions, stopping);
  open.defer(() => retire({ executor, presence, abandon, stopWithinMs, cancelGraceMs }));
  addChecks(checks, consumption, presence);
  void consumption.failed.then((error) => {
    disconnected.abort();
    // It may be a cancel request that this release cannot read. No new run begins, and current runs continue.
    if (error instanceof NewerVersion) return presence.drain();
    // Without its consumer the executor receives nothing. The process ends, and its supervisor starts another.
    if (error instanceof ConsumerTakenOver) logger.error({ executor_id }, takenOver(executor_id));
    throw error;
  });
  return { executor_id };
};

/** Nothing is kept where organisations take turns: what is there would be ended by every other one. */
const keepReady = (
  log: EventLog,
  {
    executor_id,
    executor,
    runnerFor,
    slots,
    config,
    turns,
  }: {
    readonly executor_id: ExecutorId;
    readonly executor: Executor;
    readonly runnerFor: RunnerFor;
    readonly slots: readonly GpuSlot[];
    readonly config: ExecutorConfig;
    readonly turns: Turns;
  },
): Disposable => {
  const keep = turns === NO_TURNS ? runnerFor({ kind: 'code' })?.keep : undefined;
  if (keep === undefined)
    return respondToKeepReady(log, executor_id, ({ versions }) => ({
      versions: versions.map(({ slots: asked }) => ({
        executor: KEEPS_NONE,
        slots: asked.map(() => KEEPS_NONE),
      })),
    }));
  const open = new DisposableStack();
  const gateway = new URL(config.RUNLEDGER_GATEWAY_URL);
  const keeper = open.use(
    openReadyKeeper({ keep, slots, busy: () => executor.busy(), gateway, log: log.logger }),
  );
  open.use(respondToKeepReady(log, executor_id, (request) => keeper.keep(request)));
  return open;
};

const KEEPS_NONE: StateOfVersion = {
  state: 'failed',
  why: 'This executor keeps nothing ready: it runs no code of versions, or organisations take turns on it, since their programs have one user.',
};

/** What it can do. What its cards lack for that is made, or said, before the first view: not by a run. */
const readyCapabilities: typeof readCapabilities = async (config, host, log) => {
  const capabilities = await readCapabilities(config, host, log);
  const hasCards = capabilities.slots.some(({ device }) => device !== '');
  if (hasCards) devicesForView(host.PATH ?? '', log);
  return capabilities;
};

const NOT_OPEN = 'the log is not open yet; if its streams are missing, runledger provision creates them';

/** Lets `/readyz` say why there is no consumption yet. */
const waitsForConsumer = (checks: ServiceBase<ExecutorConfig>['checks']): ((why: string) => void) => {
  const waits = (why: string): void => {
    checks['consumption'] = () => ({ ok: false, why });
  };
  waits(NOT_OPEN);
  return waits;
};

/** The part of the time for a stop that processes between runs have to end before they are killed. */
const RESIDENTS_STOP_WITHIN = 0.2;

/** What starts processes, and what they get. */
const openProcesses = async (
  { config, instance, logger: log }: ServiceBase<ExecutorConfig>,
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
  const secrets = [...config.EXECUTOR_HIDDEN, ...secretFiles(process.env)];
  // What runs left there for later ones is hidden wherever it is, as below /opt, of which programs see the rest.
  const hidden = [...secrets, workFolder];
  const isolation = await chooseIsolation({ isWanted, path: config.PATH, hidden, users });
  mustBeReached(workFolder, isolation);
  log[networkHold(isolation) === 'none' ? 'warn' : 'info'](describeNetwork(isolation));
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
  const env = hostEnvironment(config, slots.length);
  const processes = { env, workFolder, supervisors, mark, log };
  const residents = open.use(openResidentProcesses({ ...processes, stopGraceMs }));
  const turns = takesTurns ? openTurns(() => residents.endUnshared()) : NO_TURNS;
  const name = executorName(executorId(instance));
  const host = { ...processes, slots, residents, fetchModel, cancelGraceMs, executorName: name };
  return { host, stopWithinMs, tried, turns };
};

const TAKE_TURNS =
  'programs of all organisations have one user, so organisations take turns on this executor: a run waits until the programs of another organisation have ended. ' +
  'Start it as root, without EXECUTOR_RUN_AS, or where it may make user namespaces, and they run at once';

/** The files with the secrets of the executor, as settings name them. */
const secretFiles = (env: NodeJS.ProcessEnv): string[] =>
  Object.entries(env).flatMap(([name, path]) => (name.endsWith('_FILE') && path !== undefined ? [path] : []));

const addChecks = (
  checks: ServiceBase<ExecutorConfig>['checks'],
  consumption: Consumption,
  presence: FleetPresence,
): void => {
  checks['consumption'] = () => consumption.state();
  checks['registered'] = () => {
    const why = presence.absence();
    return why === null ? { ok: true } : { ok: false, why };
  };
};

const takenOver = (id: ExecutorId): string =>
  `Another executor named ${executorName(id)} has taken over, and this one no longer receives anything. ` +
  'Give each executor its own EXECUTOR_NAME.';

await runConfiguredService(
  {
    name: 'gpu-executor',
    configSchema,
    readConfig: readExecutorConfig,
    alsoWrong: capabilityProblems,
    instance: ({ EXECUTOR_NAME }) => newExecutorId(EXECUTOR_NAME),
    start,
  },
  process.env,
);
