import { hostname, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { MAX_MACHINE_REFERENCE } from '@runledger/contracts/events/fleet-event';
import { isLabel, LABEL_RULE, MAX_EXECUTOR_LABELS } from '@runledger/contracts/run-options';
import { UUID_PATTERN } from '@runledger/contracts/ids';
import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { list, oneOf, seconds, url } from '@runledger/service-kit/config-schemas';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { serviceConfig } from '@runledger/service-kit/service-config';
import { egressConfig, allowSetting, policyConfig } from '@runledger/webhooks/policy-config';
import { Type, type Static } from 'typebox';
import {
  MIN_CPU_SECONDS,
  MIN_CPUS,
  MIN_DISK_BYTES,
  MIN_MEMORY_BYTES,
  MIN_OPEN_FILES,
  MIN_PROCESSES,
  MIN_TEMPORARY_BYTES,
  type ProgramLimits,
} from './supervision/program-limits.ts';
import { RUNNER_TYPES, settingsOf } from './runners/runner-registry.ts';

// Each runner reads its own settings; their types are known to it alone.
const runnerSettings: object = settingsOf(RUNNER_TYPES);

/** Programs that the executor starts inherit these. An empty one is a value: it may hide all GPUs. */
const inheritedSettings = {
  PATH: Type.String({
    default: '/usr/local/bin:/usr/bin:/bin',
    emptyIsValue: true,
    description: 'the folders of programs; runs inherit it, without those that npm puts before it',
  }),
  HOME: Type.Optional(Type.String({ emptyIsValue: true, description: 'a home folder; runs inherit it' })),
  LANG: Type.Optional(Type.String({ emptyIsValue: true, description: 'the language; runs inherit it' })),
  TZ: Type.Optional(
    Type.String({ description: 'the time zone; runs inherit it; that of the system when it is not set' }),
  ),
  OMP_NUM_THREADS: Type.Optional(
    Type.String({
      description:
        'threads of numerical libraries; runs inherit it; where there are several slots, their part of the processors when it is not set',
    }),
  ),
  CUDA_VISIBLE_DEVICES: Type.Optional(
    Type.String({
      emptyIsValue: true,
      description: 'the GPUs that this executor may use; all when it is not set',
    }),
  ),
  LD_LIBRARY_PATH: Type.Optional(
    Type.String({
      emptyIsValue: true,
      description: 'runs that use a GPU get those of its folders that have the libraries of its driver',
    }),
  ),
};

const MACHINE = new RegExp(`^(?:\\*|${UUID_PATTERN}(?:/.+)?)$`);
/** A name alone would also match the machines that another organisation gives this name. */
const Machine = Type.Refine(
  Type.String({ maxLength: MAX_MACHINE_REFERENCE }),
  (text) => MACHINE.test(text),
  () => 'is not *, the id of a machine, or the id of an organisation with a slash and the name of a machine',
);

const Label = Type.Refine(
  Type.String(),
  (text) => isLabel(text),
  () => `is not a label: ${LABEL_RULE}`,
);

const AbsolutePath = Type.Refine(
  Type.String({ maxLength: 4096 }),
  (text) => isAbsolute(text),
  () => 'is not an absolute path',
);

export const configSchema = Type.Object({
  ...brokerConfig,
  EXECUTOR_NAME: Type.String({
    default: hostname(),
    minLength: 1,
    description: 'names the executor over its restarts; no two executors may have the same',
  }),
  EXECUTOR_GPUS: Type.Optional(
    Type.String({
      description:
        'the slots: MODEL:CARDS, or MODEL:CARDSxSLOTS for several slots on each card, such as RTX4090:1x3,CPU:2; any model, CPU uses no card; without it one slot for each card that nvidia-smi shows',
    }),
  ),
  ...runnerSettings,
  EXECUTOR_MACHINES: list(Machine, {
    default: ['*'],
    maxItems: 1024,
    description:
      'the machines that it serves: ids, or the id of an organisation, a slash and a name; * serves all',
  }),
  EXECUTOR_LABELS: list(Label, {
    default: [],
    maxItems: MAX_EXECUTOR_LABELS,
    description:
      'what deployments may ask for beside the GPU, such as zone:eu-west-1 or nvlink: runs of those go only to executors that have all their labels',
  }),
  EXECUTOR_CANCEL_GRACE_S: seconds({
    default: 10,
    maximum: 3_600,
    description: 'from SIGTERM to SIGKILL when a run is cancelled',
  }),
  EXECUTOR_HIDDEN: list(AbsolutePath, {
    default: [],
    maxItems: 64,
    description:
      'files and folders of the system that no program may see, such as /opt/keys; folders outside of it are hidden anyway',
  }),
  EXECUTOR_ISOLATION: oneOf(['auto', 'required', 'off'], {
    default: 'auto',
    description:
      'what keeps programs from the machine and from each other: auto takes the best that works, and says in GET /executors what it is worth; required refuses to start unless a hostile program that is tried at the start reaches nothing; off is for machines where it disturbs the programs',
  }),
  EXECUTOR_NETWORK_ALLOW: allowSetting(
    'where programs with the network outgoing may connect besides public addresses, for example loopback, models.corp.example, 10.1.0.0/16; at any port',
  ),
  EXECUTOR_RUN_MEMORY_BYTES: Type.Optional(
    Type.Integer({
      minimum: MIN_MEMORY_BYTES,
      description: 'memory of a program with all that it starts; without it as much as the machine has',
    }),
  ),
  EXECUTOR_RUN_PROCESSES: Type.Integer({
    default: 4096,
    minimum: MIN_PROCESSES,
    description: 'processes and threads of a program',
  }),
  EXECUTOR_RUN_OPEN_FILES: Type.Integer({
    default: 65_536,
    minimum: MIN_OPEN_FILES,
    description: 'files that each process of a program may have open',
  }),
  EXECUTOR_RUN_DISK_BYTES: Type.Integer({
    default: 64 * 1024 ** 3,
    minimum: MIN_DISK_BYTES,
    description: 'bytes in the folders of a program, its inputs included',
  }),
  EXECUTOR_RUN_TMP_BYTES: Type.Integer({
    default: 256 * 1024 ** 2,
    minimum: MIN_TEMPORARY_BYTES,
    description:
      'bytes in the /tmp of a program, and in its /var/tmp, which are in memory where bubblewrap makes them; TMPDIR is on disk',
  }),
  EXECUTOR_RUN_CPUS: Type.Optional(
    Type.Number({
      minimum: MIN_CPUS,
      description:
        'processors that a program may keep busy, fractions allowed, where the executor has a cgroup',
    }),
  ),
  EXECUTOR_RUN_AS: Type.Optional(
    Type.String({
      description:
        'one user for all programs, by name or as uid:gid, for an executor that is root: organisations take turns then; without it each supervisor of programs has a user of its own',
    }),
  ),
  EXECUTOR_RUN_CPU_S: Type.Optional(
    Type.Integer({
      minimum: MIN_CPU_SECONDS,
      unit: 'seconds',
      description: 'processor time of each process of a program',
    }),
  ),
  EXECUTOR_WORK_DIR: Type.String({
    default: join(tmpdir(), 'runledger-executor'),
    minLength: 1,
    description:
      'holds the output and temporary folders of the attempts, and the caches of programs; one executor each',
  }),
  EXECUTOR_CACHE_BYTES: Type.Integer({
    default: 32 * 1024 ** 3,
    minimum: 0,
    description:
      'bytes in the work folder for what libraries of programs keep from run to run, such as compiled code and downloads: of all deployments together, and of one program while it runs; 0 for none',
  }),
  EXECUTOR_CACHE_DAYS: Type.Integer({
    default: 30,
    minimum: 1,
    maximum: 3_650,
    unit: 'days',
    description: 'such a cache is removed when no run has used it for so long',
  }),
  EXECUTOR_WORKFLOW_CACHE_BYTES: Type.Integer({
    default: 64 * 1024 ** 2,
    minimum: 0,
    description: 'maximum bytes of workflows in memory, so that not every run fetches its own',
  }),
  EXECUTOR_INPUT_MAX_BYTES: Type.Integer({
    default: 4 * 1024 ** 3,
    minimum: 1,
    description:
      'maximum bytes of all files of the inputs of a run; they lie in the work folder while it executes',
  }),
  EXECUTOR_INPUT_FETCH_S: seconds({
    default: 600,
    maximum: 86_400,
    description: 'how long fetching the file of one URL may take',
  }),
  ...policyConfig,
  ...egressConfig,
  RUNLEDGER_GATEWAY_URL: url({
    default: 'http://127.0.0.1:8080',
    description: 'the origin of the gateway, where workflows are fetched and output files are stored',
  }),
  RUNLEDGER_HEARTBEAT_PERIOD_S: seconds({
    default: 6,
    minimum: 0.3,
    maximum: 3_600,
    description: 'an executor without a heartbeat for this time is lost; the same value as for the scheduler',
  }),
  ...inheritedSettings,
  ...serviceConfig({ healthPort: 9103 }),
});

export type ExecutorConfig = Static<typeof configSchema>;

export const limitsOf = (config: ExecutorConfig): ProgramLimits => ({
  memoryBytes: config.EXECUTOR_RUN_MEMORY_BYTES ?? null,
  processes: config.EXECUTOR_RUN_PROCESSES,
  openFiles: config.EXECUTOR_RUN_OPEN_FILES,
  diskBytes: config.EXECUTOR_RUN_DISK_BYTES,
  cpus: config.EXECUTOR_RUN_CPUS ?? null,
  cpuSeconds: config.EXECUTOR_RUN_CPU_S ?? null,
  temporaryBytes: config.EXECUTOR_RUN_TMP_BYTES,
});

export const cacheLimitsOf = ({
  EXECUTOR_CACHE_BYTES: maxBytes,
  EXECUTOR_CACHE_DAYS: days,
}: ExecutorConfig): { readonly maxBytes: number; readonly maxUnusedMs: number } => ({
  maxBytes,
  maxUnusedMs: days * 86_400_000,
});

export const readExecutorConfig = (env: Environment): ExecutorConfig =>
  readConfig(configSchema, withoutNpmFolders(env));

const ADDED_BY_NPM = /(?:\/node_modules\/\.bin|\/node-gyp-bin)$/;

/**
 * What `npm start` puts before PATH ends with a folder of its own: the folders of packages, where the tools of Runledger and its Node are.
 * Programs get those of the machine.
 */
export const withoutNpmFolders = (env: Environment): Environment => {
  const folders = env['PATH']?.split(delimiter) ?? [];
  const others = folders.findIndex((folder) => !ADDED_BY_NPM.test(folder));
  const added = folders.slice(0, others < 0 ? folders.length : others);
  const last = added.findLastIndex((folder) => folder.endsWith('/node-gyp-bin'));
  return last < 0 ? env : { ...env, PATH: folders.slice(last + 1).join(delimiter) };
};
