import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlesVariable, programFile } from '@runledger/service-kit/program-file';
import { healthPage } from '@runledger/testing/health-pages';
import { waitFor } from '@runledger/testing/wait-for';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { originOf } from '../../../src/cluster/service-environment.ts';

const READINESS = Type.Object({
  ready: Type.Boolean(),
  checks: Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), why: Type.Optional(Type.String()) })),
});
const Readiness = Compile(READINESS);
type Readiness = Static<typeof READINESS>;

/** A service as a separate process. Dispose kills it. */
export interface OwnProcess extends AsyncDisposable {
  readonly service: ServiceName;
  /** The answer of `/readyz`. */
  readiness(): Promise<Readiness>;
  /** Resolves when a check of `/readyz` succeeds. */
  has(check: string): Promise<void>;
  /** Resolves when a check of `/readyz` fails with this reason. */
  lacks(check: string, why: string): Promise<void>;
  ready(): Promise<void>;
  /** Sends SIGTERM, and resolves when the process has ended. */
  stop(): Promise<void>;
  /** Its output so far. */
  output(): string;
}

const WITHIN = { withinMs: 60_000 };

/** Starts the service in its folder, with only this environment. */
export const startOwn = (service: ServiceName, env: Readonly<Record<string, string>>): OwnProcess => {
  const cwd = fileURLToPath(new URL(`../../../../../services/${service}`, import.meta.url));
  const child = fork(programFile(join(cwd, 'src/main.ts')), {
    cwd,
    env: { ...bundlesVariable(), ...env },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)));

  const readiness = async (): Promise<Readiness> => {
    if (child.exitCode !== null)
      return { ready: false, checks: { [`${service} has ended: ${output}`]: { ok: false } } };
    const answer: unknown = await (
      await healthPage(originOf(Number(env['RUNLEDGER_HEALTH_PORT'])), '/readyz')
    ).json();
    if (!Readiness.Check(answer)) throw new Error(`/readyz answered ${JSON.stringify(answer)}`);
    return answer;
  };
  /** Rejects with the last answer. */
  const until = async (what: string, holds: (now: Readiness) => boolean): Promise<void> => {
    let last: Readiness | undefined;
    const look = async (): Promise<boolean> => holds((last = await readiness()));
    await waitFor(`the ${service} ${what}`, look, WITHIN).catch((error: unknown) => {
      throw new Error(`${String(error)} ${JSON.stringify(last)} ${output.slice(-2_000)}`);
    });
  };
  return {
    service,
    readiness,
    has: (check) => until(`to have: ${check}`, ({ checks }) => checks[check]?.ok === true),
    lacks: (check, why) =>
      until(`to lack: ${why}`, ({ ready, checks }) => !ready && (checks[check]?.why ?? '').includes(why)),
    ready: () => until('to be ready', ({ ready }) => ready),
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};
