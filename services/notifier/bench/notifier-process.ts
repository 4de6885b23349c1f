import { fork } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { HEALTH_TOKEN_ENV, healthPage } from '@runledger/testing/health-pages';
import { Type } from 'typebox';
import type { Receivers } from './receivers.ts';

/** The service as it runs in production, in a process of its own. */
export interface NotifierProcess extends AsyncDisposable {
  readonly pid: number;
  /** The sum over the series of a metric. */
  metric(name: string): Promise<number>;
  kill9(): Promise<void>;
}

const settingsSchema = Type.Object({
  BENCH_NODE_OPTIONS: Type.String({
    default: '',
    description: 'options of Node for the notifier, such as --cpu-prof',
  }),
});

/** The same for all notifiers of a bench: the next one reads the signing secrets that the last one stored. */
const SECRET_KEY = randomBytes(32).toString('base64');

export const startNotifier = async (
  natsUrl: string,
  receivers: Receivers,
  env: Environment,
): Promise<NotifierProcess> => {
  const { BENCH_NODE_OPTIONS } = readConfig(settingsSchema, env);
  const child = fork(new URL('../src/main.ts', import.meta.url), {
    execArgv: BENCH_NODE_OPTIONS.split(' ').filter((option) => option !== ''),
    env: {
      ...env,
      NATS_URL: natsUrl,
      ...HEALTH_TOKEN_ENV,
      RUNLEDGER_SECRET_KEYS: SECRET_KEY,
      RUNLEDGER_WEBHOOK_ALLOW: '127.0.0.0/8',
      RUNLEDGER_WEBHOOK_PORTS: receivers.ports.join(','),
      RUNLEDGER_DNS_SERVERS: receivers.dnsServer,
      RUNLEDGER_HEALTH_PORT: '0',
      RUNLEDGER_LOG_LEVEL: 'error',
    },
  });
  const exited = once(child, 'exit');
  const health = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the notifier ended before it was ready')));
    // What `announce` of the service kit sends.
    child.once('message', (message: { readonly health: string }) => resolve(message.health));
  });
  return {
    pid: child.pid ?? 0,
    metric: async (name) => {
      const text = await (await healthPage(health, '/metrics')).text();
      const values = text.split('\n').flatMap((line) => {
        const [, value] = line.match(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`)) ?? [];
        return value === undefined ? [] : [Number(value)];
      });
      return values.reduce((sum, value) => sum + value, 0);
    },
    kill9: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
};
