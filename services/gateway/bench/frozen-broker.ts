/**
 * What clients of three gateways notice when one of three brokers is frozen, a follower of all streams: the longest time from one good
 * answer to the next before, while it is frozen, and after it is back. It goes on where it was (`thaw`), is killed and started (`kill`),
 * or goes on under the watchdog of its image, which was frozen with it (`watched`) or saw it hang (`hung`).
 * `node scripts/run.mjs services/gateway/bench/frozen-broker.ts [rounds] [seconds] [thaw|kill|watched|hung] [seconds back]`
 */
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { streamState } from '@runledger/event-log/read/leader-read';
import { leaderGathering } from '@runledger/event-log/provision/stream-copies';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { aClusterLog, aWatchedLog, settledLeader } from '@runledger/event-log/test/fixtures/cluster-log';
import { aGateway, type TestGateway } from '../test/fixtures/gateway/a-gateway.ts';
import { aTenant } from '../test/fixtures/gateway/a-tenant.ts';
import { call } from '../test/fixtures/requests/requests.ts';
import { queueSample } from '../test/fixtures/runs/queued-runs.ts';

const ROUNDS = Number(process.argv[2] ?? 6);
const FROZEN_MS = Number(process.argv[3] ?? 30) * 1_000;
const BACK = process.argv[4] ?? 'thaw';
const ASK_EVERY_MS = 50;
const BACK_MS = Number(process.argv[5] ?? 12) * 1_000;
const WARM_UP_MS = BACK_MS / 3;
const GATEWAYS = [0, 1, 2];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

await using opened = new AsyncDisposableStack();
const watchedLog = BACK === 'watched' || BACK === 'hung' ? opened.use(await aWatchedLog()) : undefined;
const { log, brokers } = watchedLog ?? opened.use(await aClusterLog());
const watched = watchedLog?.brokers.servers ?? [];
const tenant = await aTenant(log);
const gateways: TestGateway[] = [];
for (const _ of GATEWAYS)
  gateways.push(opened.use(await aGateway({ url: brokers.url }, { projecting: true })));

/** Makes the leader of RUNS lead all streams, as a gateway does. */
const gather = async (): Promise<number> => {
  const work = leaderGathering(log, ALL_STREAMS);
  for (;;) {
    const leader = await settledLeader(log);
    await work(new AbortController().signal);
    const infos = await Promise.all(ALL_STREAMS.map((stream) => streamState(log, stream)));
    if (infos.every(({ cluster: now }) => now?.leader === `n${leader}`)) return leader;
  }
};

type Phase = 'before' | 'frozen' | 'back';
const longest = new Map<string, number[]>();
let phase: Phase = 'before';

/** The longest time from one good answer to the next in each phase, when one request is sent after the other. */
const watch = async (name: string, good: () => Promise<unknown>, over: AbortSignal): Promise<void> => {
  const found = { before: 0, frozen: 0, back: 0 };
  for (let last = performance.now(); !over.aborted; await pause(ASK_EVERY_MS)) {
    const isGood = await good().then(
      () => true,
      () => false,
    );
    const now = performance.now();
    found[phase] = Math.max(found[phase], now - last);
    if (isGood) last = now;
  }
  for (const [when, ms] of Object.entries(found)) {
    const key = `${when}, ${name}`;
    longest.set(key, [...(longest.get(key) ?? []), ms]);
  }
};

const read = async ({ api }: TestGateway, run: string): Promise<void> => {
  const { status } = await call(`${api}/run/${run}`, tenant.key);
  if (status !== 200) throw new Error(`GET answered ${status}`);
};

for (let round = 0; round < ROUNDS; round += 1) {
  const leader = await gather();
  const number = (leader + 1 + (round % 2)) % 3;
  const victim = brokers.servers[number];
  if (!victim) throw new Error('there is no follower');
  while (watched.some(({ isWatched }) => !isWatched())) await pause(WARM_UP_MS);
  const over = new AbortController();
  phase = 'before';
  const watching = gateways.flatMap((one) => {
    const isThere = one.log.nc.getServer().endsWith(`:${victim.port}`);
    const at = isThere ? 'at the frozen broker' : 'at another broker';
    const run = queueSample(one, tenant);
    return [
      watch(`GET ${at}`, async () => read(one, (await run).run_id), over.signal),
      watch(`POST ${at}`, () => queueSample(one, tenant), over.signal),
    ];
  });
  await pause(WARM_UP_MS);
  phase = 'frozen';
  const hanging = BACK === 'hung' ? await watched[number]?.natsServerPid() : undefined;
  if (hanging === undefined) await victim.pause();
  else process.kill(hanging, 'SIGSTOP');
  await pause(FROZEN_MS);
  phase = 'back';
  if (BACK === 'kill') {
    await victim.kill9();
    await victim.restart();
  } else victim.resume();
  await pause(BACK_MS);
  over.abort();
  await Promise.all(watching);
  const endings = watched[number]?.endings.length ?? 0;
  say(`round ${round + 1} of ${ROUNDS}, ${endings} killed so far, load ${loadavg()[0]?.toFixed(0)}`);
}

for (const [name, times] of [...longest].toSorted(([one], [other]) => one.localeCompare(other))) {
  times.sort((a, b) => a - b);
  const seconds = (ms = 0): string => (ms / 1_000).toFixed(1);
  const median = seconds(times[Math.floor(times.length / 2)]);
  say(`${name}: median ${median} s, longest ${seconds(times.at(-1))} s (${times.length} times)`);
}
