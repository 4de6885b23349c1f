import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { schedule } from './chaos/schedule.ts';
import { strikeParts } from './chaos/strike-parts.ts';
import { violationsIn } from './checks/all-checks.ts';
import { carryOutAll } from './clients/load.ts';
import { plans } from './clients/plan.ts';
import { startReceiver } from './clients/receiver.ts';
import { clients } from './clients/run-client.ts';
import { steadyClock } from './clock.ts';
import { startCluster } from './cluster/cluster.ts';
import { residentBytes } from './cluster/resident-bytes.ts';
import { gatherEvidence } from './evidence/gather.ts';
import { recordLog } from './evidence/read-log.ts';
import type { Exchange, WatchedStream } from './evidence/records.ts';
import { untilQuiet } from './evidence/until-quiet.ts';
import type { Options } from './options.ts';
import { chance } from './random.ts';
import { story } from './story.ts';
import { summary } from './summary.ts';

export interface Verdict {
  readonly kept: boolean;
  /** The summary, and in front of it the story of the first violation. */
  readonly report: string;
}

/** Each has a chance of its own, so that one more question of one changes nothing for the others. */
const chances = (seed: number) => ({
  ofPlans: chance(seed),
  ofBlows: chance(seed + 1),
  ofClients: chance(seed + 2),
});

/** One soak, from the first process to the verdict. Everything that it started is gone when it resolves. */
export const soak = async (
  { seed, size, keep, command }: Options,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<Verdict> => {
  const now = steadyClock;
  const begunAt = now();
  const folder = await mkdtemp(join(tmpdir(), 'runledger-soak-'));
  let kept = false;
  try {
    await using open = new AsyncDisposableStack();
    const receiver = open.use(await startReceiver(now));
    const cluster = open.use(await startCluster({ folder, size, env, now, say }));
    const seen = open.use(await recordLog(cluster.log));
    const { ofPlans, ofBlows, ofClients } = chances(seed);
    const asked = plans(ofPlans, size);
    const blows = schedule(
      ofBlows,
      cluster.parts.map(({ name }) => name),
      size,
    );
    const patience = new AbortController();
    const exchanges: Exchange[] = [];
    const streams: WatchedStream[] = [];
    const spec = { ...cluster, receiver: receiver.url, now, random: ofClients, exchanges, streams };
    say(
      `${asked.length} requests and ${blows.length} blows in ${size.minutes} minutes. Log files: ${folder}/logs`,
    );
    const asking = carryOutAll(clients({ ...spec, signal: patience.signal }), asked);
    await strikeParts(blows, cluster.parts);
    say('The last blow has fallen; everything is let run until it is quiet.');
    const lateness = setTimeout(() => patience.abort(), size.quietWithin);
    await asking;
    clearTimeout(lateness);
    await untilQuiet(seen, size.quietWithin, say);

    const records = { exchanges, streams, received: receiver.received };
    const evidence = await gatherEvidence({ cluster, seen, records, plans: asked, size, folder });
    const memory = await residentBytes(cluster.parts);
    const seconds = (now() - begunAt) / 1_000;
    const counted = summary(evidence, { seconds, views: cluster.views, memory });
    const violations = violationsIn(evidence);
    const [first] = violations;
    kept = first === undefined;
    if (first === undefined) return { kept, report: counted };
    const others = violations.slice(1, 20).map(({ run, says }) => `  ${run ?? 'no run'}: ${says}`);
    const more = violations.length > 1 ? [`${violations.length - 1} violations more:`, ...others] : [];
    const report = [story(first, evidence, { begunAt, command }), ...more, counted].join('\n');
    return { kept, report };
  } finally {
    if (kept && !keep) await rm(folder, { recursive: true, force: true });
    else say(`The store of the broker, the views and the log files are in ${folder}.`);
  }
};
