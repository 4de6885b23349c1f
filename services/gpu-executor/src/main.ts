import { newAttemptKeys } from '@runledger/contracts/attempt-token';
import { executorId, executorName, type ExecutorId } from '@runledger/contracts/ids';
import { ConsumerTakenOver, NewerVersion, type Consumption } from '@runledger/event-log/follow/consume';
import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondToKeepReady } from '@runledger/request-reply/ready-slots';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { brokerHosts, httpHost } from '@runledger/webhooks/hosts';
import { runConfiguredService, type ServiceBase } from '@runledger/service-kit/configured-service';
import { capabilityProblems, readCapabilities } from './capabilities.ts';
import { configSchema, readExecutorConfig, type ExecutorConfig } from './config.ts';
import { newExecutorId, type FleetPresence, retire } from './fleet-presence.ts';
import type { GpuSlot } from './gpu-slots.ts';
import type { Executor } from './attempt/executor.ts';
import { NO_TURNS, type Turns } from './attempt/turns.ts';
import { consumeAddressed, redriveAddressed } from './attempt/executor-log.ts';
import { openExecutor } from './open-executor.ts';
import { openEgress } from './network/egress.ts';
import { openProcesses } from './open-processes.ts';
import { openFleetPresence } from './open-fleet-presence.ts';
import { openRunners } from './runners/runner-registry.ts';
import { openReadyKeeper } from './code/keep-ready.ts';
import type { RunnerFor } from './runners/runner-type.ts';
import { devicesForView } from './card-devices.ts';

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
  const own = [
    ...brokerHosts(config.NATS_URL),
    ...httpHost(config.RUNLEDGER_GATEWAY_URL),
    ...httpHost(base.health),
  ];
  const egress = openEgress({ config, own, log: logger }, open);
  const name = executorName(executor_id);
  const { host, stopWithinMs, tried, turns } = await openProcesses(
    { config, name, env: process.env, log: logger },
    { slots, runners, egress },
    open,
  );
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
