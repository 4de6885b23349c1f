import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ExecutorRegistered, parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { executorId, type ExecutorId } from '@runledger/contracts/ids';
import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { readRun } from '@runledger/event-log/read/read-run';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { createExecutorConsumers } from '@runledger/request-reply/executor-consumers';
import { programFile } from '@runledger/service-kit/program-file';
import { HEALTH_TOKEN_ENV, healthPage } from '@runledger/testing/health-pages';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { anAssignedRun, type AssignedRun } from '../../fixtures/assigned-run.ts';
import { startGateway, type ExecutionGateway } from '../../fixtures/execution-gateway.ts';

const main = programFile(fileURLToPath(new URL('../../../src/main.ts', import.meta.url)));

/** The executor's `main.ts` with a real broker, and a gateway that only serves attempts. The test acts as the scheduler. */
export interface ServiceTestBed extends AsyncDisposable {
  readonly log: EventLog;
  readonly nats: Awaited<ReturnType<typeof testNats>>;
  readonly gateway: ExecutionGateway;
  readonly executor: ExecutorId;
  readonly registered: ExecutorRegistered;
  readonly workFolder: string;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly exit: () => Promise<number | null>;
  readonly output: () => string;
  readonly ready: () => Promise<boolean>;
  /** The checks of `/readyz`. */
  readonly readiness: () => Promise<unknown>;
  /** Queues a run of a program and assigns it to the executor. `head` is the sequence of the assignment. */
  readonly assign: (
    program: string,
    data?: Partial<RunEventOf<'RunAssigned'>['data']>,
    org_id?: string,
  ) => Promise<{ run: AssignedRun; head: number }>;
  /** Nothing of any run is left in the work folder: an attempt removes its folders last. Supervisors that are kept have empty ones. */
  readonly over: () => Promise<unknown>;
  /** The programs that wait for it end. */
  readonly end: () => void;
  readonly append: (event: RunEvent, expected: number) => Promise<number>;
  /** The facts of a run, oldest first. */
  readonly facts: (run: AssignedRun) => Promise<RunEvent[]>;
  /** Waits for a fact of this type in the run. */
  readonly fact: (run: AssignedRun, type: RunEvent['type']) => Promise<RunEvent>;
}

const scripts: Record<string, string> = {
  render: `echo '{"progress": 0.5, "live_status": "half"}'
    printf 12345 >"$RUNLEDGER_OUTPUT_DIR/a.png"
    echo '{"output": {"text": ["a caption"]}}'`,
  quiet: 'exit 0',
  // 20 MB, in lines of 100 bytes.
  flood: "seq -f '%99.0f' 200000",
  leak: "echo 'the key sk-s3cret is wrong'; echo 'the key sk-s3cret is wrong' >&2; exit 3",
  cached: `[ -n "$XDG_CACHE_HOME" ] && text=$(cat "$XDG_CACHE_HOME/file" 2>/dev/null || echo empty)
    echo kept >"$XDG_CACHE_HOME/file"; echo '{"output": {"text": ["'"$text"'"]}}'; exit 0`,
  inherited: `echo '{"output": {"text": ["'"$PATH $TZ $OMP_NUM_THREADS"'"]}}'`,
  many: 'for n in $(seq 30); do echo $n >"$RUNLEDGER_OUTPUT_DIR/$n.txt"; done',
  story: `text=$(printf '%05000d' 7); echo '{"output": {"text": ["short", "'"$text"'"]}}'`,
  echo: 'cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"',
  copy: `cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"; cp -r "$RUNLEDGER_INPUT_DIR"/* "$RUNLEDGER_OUTPUT_DIR"`,
  fail: 'echo "size is too large" >&2; exit 3',
  busy: `echo '{"progress": 0.25, "live_status": "busy"}'; sleep 600 & wait`,
  astray: `setsid sleep 600 & echo '{"progress": 0.25, "live_status": "astray"}'; wait`,
  waiting: `echo '{"progress": 0.25, "live_status": "waiting"}'
    until [ -e "$RUNLEDGER_OUTPUT_DIR/go" ]; do sleep 0.1; done; touch "$RUNLEDGER_OUTPUT_DIR/ended"`,
  // Its last line has no end.
  chatty: `trap 'echo stopping; printf "the last"; exit 0' TERM; echo started; printf '{"progress": 0.25}\\nunended'; sleep 600 & wait`,
  endless: `trap '' TERM; while :; do echo 'and on'; done`,
  stubborn: `trap '' TERM; echo '{"progress": 0.25, "live_status": "busy"}'; while :; do sleep 1; done`,
};

export const startService = async (env: Record<string, string> = {}): Promise<ServiceTestBed> => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'gpu-executor-service-')));
  const nats = opened.use(await testNats());
  const log = opened.use(await openEventLog({ url: nats.url, name: 'test' }, silentLogger));
  await provision(log);
  opened.use(createExecutorConsumers(log));
  const gateway = opened.use(await startGateway());
  const [workFolder, signals] = [join(folder.path, 'work'), join(folder.path, 'signals')];
  mkdirSync(signals);
  // It ends when the test makes a file that it may see.
  const untilEnd = `until [ -e '${signals}/end' ]; do sleep 0.1; done`;
  const talk = `echo 'to stdout'; echo 'to stderr' >&2; ${untilEnd}`;
  const held = `echo '{"progress": 0.25, "live_status": "held"}'; ${untilEnd}`;
  const programs = Object.fromEntries(
    Object.entries({ ...scripts, held, talk }).map(([name, script]) => [
      name,
      { command: 'sh', args: ['-c', script], readable: [signals] },
    ]),
  );
  const child: ChildProcess = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      ...HEALTH_TOKEN_ENV,
      NATS_URL: nats.url,
      EXECUTOR_NAME: 'box',
      EXECUTOR_GPUS: 'A10G:2',
      EXECUTOR_PROGRAMS: JSON.stringify(programs),
      EXECUTOR_WORK_DIR: workFolder,
      EXECUTOR_CANCEL_GRACE_S: '0.5',
      RUNLEDGER_GATEWAY_URL: gateway.url,
      RUNLEDGER_HEARTBEAT_PERIOD_S: '0.6',
      RUNLEDGER_HEALTH_PORT: '0',
      RUNLEDGER_LOG_LEVEL: 'debug',
      RUNLEDGER_STOP_WITHIN_S: '5',
      ...env,
    },
  });
  // Frozen, it does not notice the end of its parent.
  killWithParent(child);
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  let health: string | undefined;
  child.on('message', (announced) => {
    if (typeof announced === 'object' && 'health' in announced) health = String(announced.health);
  });
  const exited = once(child, 'exit');
  opened.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const registered = await waitFor('the registration', () => lastRegistration(log));
  gateway.publicKey = registered.public_key;
  const executor = executorId(registered.executor_id);

  const appendEvent = async (event: RunEvent, expected: number): Promise<number> => {
    const appended = await append(log, event, expected);
    if (appended.kind === 'conflict') throw new Error(`${event.type} met the head ${appended.head}`);
    return appended.sequence;
  };
  const facts = async (run: AssignedRun): Promise<RunEvent[]> => {
    const read = await readRun(log, run);
    if (read.kind !== 'found') throw new Error(read.kind);
    return read.facts.map((fact) => fact.event);
  };
  const resources = opened.move();
  return {
    log,
    nats,
    gateway,
    executor,
    registered,
    workFolder,
    kill: (signal) => void child.kill(signal),
    exit: async () => {
      await exited;
      return child.exitCode;
    },
    output: () => output,
    ready: async () => health !== undefined && (await fetch(`${health}/readyz`)).ok,
    readiness: async () => {
      if (health === undefined) throw new Error('the executor has not announced its health server');
      const page: unknown = await (await healthPage(health, '/readyz')).json();
      return typeof page === 'object' && page !== null && 'checks' in page ? page.checks : page;
    },
    assign: async (program, data = {}, org_id) => {
      const of = { executor, publicKey: registered.public_key, program, data };
      const run = anAssignedRun({ ...of, ...(org_id !== undefined && { org_id }) });
      return { run, head: await appendEvent(run.assigned, await appendEvent(run.queued, 0)) };
    },
    over: () => waitFor('an empty work folder', () => leftIn(workFolder).join() === 'owner'),
    end: () => writeFileSync(join(signals, 'end'), ''),
    append: appendEvent,
    facts,
    fact: (run, type) =>
      waitFor(`${type} of ${run.run_id}`, async () =>
        (await facts(run)).find((event) => event.type === type),
      ),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
};

/** Without caches and the folders of supervisors, but with what is in these. */
const leftIn = (workFolder: string): readonly string[] => {
  try {
    const paths = readdirSync(workFolder, { encoding: 'utf8', recursive: true });
    return paths.filter(
      (path) => !/^caches\b/.test(path) && (path !== basename(path) || !path.startsWith('tmp-')),
    );
  } catch (error) {
    // A folder was removed while it was listed.
    return [String(error)];
  }
};

const lastRegistration = async (log: EventLog): Promise<ExecutorRegistered | undefined> => {
  const message = await log.jsm.streams.getMessage('FLEET', { last_by_subj: 'fleet.*.*.registered' });
  const parsed = message === null ? undefined : parseFleetEvent(message.json());
  return parsed?.kind === 'event' && parsed.event.type === 'ExecutorRegistered' ? parsed.event : undefined;
};
