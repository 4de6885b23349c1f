import { configSchema as gatewaySchema, readGatewayConfig } from '@runledger/gateway/config';
import { capabilityProblems } from '@runledger/gpu-executor/capabilities';
import { configSchema as executorSchema, readExecutorConfig } from '@runledger/gpu-executor/config';
import { configSchema as notifierSchema, readNotifierConfig } from '@runledger/notifier/config';
import { configSchema as schedulerSchema, readSchedulerConfig } from '@runledger/scheduler/config';
import {
  ConfigError,
  joinProblems,
  problemsOf,
  type ConfigProblem,
  type Environment,
} from '@runledger/service-kit/config';
import { misspeltSentence, misspeltSettings } from '@runledger/service-kit/misspelt-settings';
import type { Type } from 'typebox';
import { chooseSlots } from './components/gpu-slots.ts';
import { PROXY_SETTINGS, settingsGiven } from './components/given-settings.ts';
import { serviceEnvironment } from './supervision/service-environment.ts';
import { readSettings, settingsSchema, type Settings } from './settings.ts';

/** What each service would get that this environment does not decide: all valid, and none of it is used. */
const DECIDED_LATER = {
  NATS_URL: 'nats://127.0.0.1:4222',
  RUNLEDGER_HEALTH_HOST: '127.0.0.1',
  RUNLEDGER_HEALTH_PORT: '0',
  RUNLEDGER_SECRET_KEYS: `${'A'.repeat(43)}=`,
  RUNLEDGER_VIEWS: 'sqlite',
  RUNLEDGER_EXAMPLE_IDS: '',
  RUNLEDGER_GATEWAY_URL: 'http://127.0.0.1:8080',
};

interface CheckedService {
  readonly schema: Type.TObject;
  readonly prefixes: readonly string[];
  readonly read: (env: Environment) => unknown;
}

const SERVICES: readonly CheckedService[] = [
  { schema: gatewaySchema, prefixes: ['RUNLEDGER_'], read: readGatewayConfig },
  { schema: schedulerSchema, prefixes: ['RUNLEDGER_'], read: readSchedulerConfig },
  { schema: notifierSchema, prefixes: ['RUNLEDGER_'], read: readNotifierConfig },
  {
    schema: executorSchema,
    prefixes: ['RUNLEDGER_', 'EXECUTOR_', 'CUDA_', 'NVIDIA_'],
    read: readExecutorConfig,
  },
];

/**
 * The settings, once no service would refuse its own: a person sees all that is wrong at once, and each only once, although
 * several services read it. @throws ConfigError that names all invalid settings
 */
export const checkSettings = async (env: NodeJS.ProcessEnv): Promise<Settings> => {
  let problems: readonly ConfigProblem[] = await problemsOf(() => readSettings(env));
  for (const { prefixes, read } of SERVICES)
    problems = joinProblems(problems, await problemsOf(() => read(environmentOf(env, prefixes))));
  problems = joinProblems(problems, [
    ...(await wrongDatabase(env['MONGODB_URL'])),
    ...(await wrongCapabilities(env)),
  ]);
  if (problems.length > 0) throw new ConfigError(problems);
  return readSettings(env);
};

/** The environment without settings whose names have a slip. Each is told once, not by each service that gets it. */
export const withoutMisspelt = (
  env: NodeJS.ProcessEnv,
  tell: (sentence: string) => void,
): NodeJS.ProcessEnv => {
  const schemas = [settingsSchema, ...SERVICES.map(({ schema }) => schema)];
  const names = schemas.flatMap(({ properties }) => Object.keys(properties));
  const others = { ...env };
  for (const misspelt of misspeltSettings(names, env)) {
    tell(misspeltSentence(misspelt));
    delete others[misspelt.variable];
  }
  return others;
};

/** The schema knows how an address begins. Its driver knows the rest, and is loaded for that: most starts have no address. */
const wrongDatabase = async (url: string | undefined): Promise<readonly ConfigProblem[]> => {
  if (url === undefined || url === '') return [];
  const { isServerAddress } = await import('@runledger/gateway/views/mongo/mongo-server');
  return isServerAddress(url)
    ? []
    : [
        {
          variable: 'MONGODB_URL',
          wrong: 'begins well, and is not an address that the driver of MongoDB accepts',
          right:
            'an address such as mongodb://127.0.0.1:27017/runledger, with % and the hexadecimal code for special characters of a password',
        },
      ];
};

/** Of the slots and what runs on them, if the environment has settings for it: nvidia-smi may take seconds. */
const wrongCapabilities = async (env: NodeJS.ProcessEnv): Promise<readonly ConfigProblem[]> => {
  const given = CAPABILITIES.filter((name) => env[name] !== undefined && env[name] !== '');
  if (given.length === 0) return [];
  const { setting } = await chooseSlots(env['EXECUTOR_GPUS'] || undefined, 1);
  return capabilityProblems({ ...environmentOf(env, ['EXECUTOR_', 'CUDA_']), ...setting });
};

const CAPABILITIES = ['EXECUTOR_GPUS', 'EXECUTOR_PROGRAMS', 'EXECUTOR_COG', 'EXECUTOR_COMFYUI'];

const environmentOf = (env: NodeJS.ProcessEnv, prefixes: readonly string[]): Environment =>
  serviceEnvironment(env, prefixes, { ...DECIDED_LATER, ...settingsGiven(env, PROXY_SETTINGS) });
