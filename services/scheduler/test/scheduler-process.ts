import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PERIOD_MS } from './a-cell.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The service as it is deployed: a process of its own. Killed on dispose. */
export interface SchedulerProcess extends AsyncDisposable {
  readonly health: string;
  /** 1 while it leads. */
  leading(): Promise<boolean>;
  assignments(): Promise<number>;
  kill9(): Promise<void>;
  /** SIGSTOP: it keeps its connections and does nothing. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM; the exit code. */
  stop(): Promise<number | null>;
}

export const startScheduler = async (natsUrl: string): Promise<SchedulerProcess> => {
  const child = fork(MAIN, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      NATS_URL: natsUrl,
      RUNLEDGER_HEALTH_PORT: '0',
      RUNLEDGER_HEARTBEAT_PERIOD_S: String(PERIOD_MS / 1_000),
    },
  });
  const exited = once(child, 'exit');
  const health = await announced(child);
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(`${health}/metrics`)).text();
    return Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec(page)?.[1]);
  };
  const kill9 = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    health,
    leading: async () => (await metric('runledger_scheduler_leading')) === 1,
    assignments: () => metric('runledger_scheduler_assignments_total'),
    kill9,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      return child.exitCode;
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await kill9();
    },
  };
};

const announced = async (child: ChildProcess): Promise<string> => {
  const [message]: unknown[] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => [undefined]),
  ]);
  if (typeof message === 'object' && message !== null && 'health' in message) return String(message.health);
  throw new Error('the scheduler exited before it was ready');
};
