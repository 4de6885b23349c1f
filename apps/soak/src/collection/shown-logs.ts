import { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ShownLogs } from '../evidence/evidence.ts';
import { linesRequestedBy, type LoggedRuns } from '../evidence/logged-run.ts';

const Items = Type.Array(Type.Union([RunLogLine, RunLogCut, RunLogNotice]));
const AT_ONCE = 4;
const WITHIN_MS = 20_000;

/** The logs of each run that was to write some, at one gateway after the other. @throws Error for an unexpected answer */
export const shownLogs = async (
  gateways: readonly string[],
  apiKey: string,
  runs: LoggedRuns,
): Promise<readonly ShownLogs[]> => {
  const wanted = [...runs].flatMap(([run, logged], at) => {
    const gateway = gateways[at % gateways.length];
    return gateway !== undefined && linesRequestedBy(logged) > 0 ? [{ gateway, run }] : [];
  });
  const shown: ShownLogs[] = [];
  const readOn = async (): Promise<void> => {
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      const { gateway, run } = next;
      const headers = { authorization: `Bearer ${apiKey}` };
      const url = `${gateway}/run/${run}/logs`;
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
      const lines = (await response.text()).split('\n').filter((line) => line !== '');
      const items: unknown = response.ok ? lines.map((line) => JSON.parse(line) as unknown) : [];
      if (!Value.Check(Items, items)) throw new Error(`${gateway} answered with unknown logs of run ${run}`);
      shown.push({ gateway, run, status: response.status, items });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return shown;
};
