import { createHash } from 'node:crypto';
import type { ShownFile } from '../evidence/evidence.ts';
import { filesOf, type LoggedRuns } from '../evidence/logged-run.ts';

const AT_ONCE = 4;
const WITHIN_MS = 20_000;

/** What all gateways answer for each file that the ends of runs list. */
export const shownFiles = async (
  gateways: readonly string[],
  runs: LoggedRuns,
): Promise<readonly ShownFile[]> => {
  const wanted = [...runs].flatMap(([run, logged]) =>
    filesOf(logged).flatMap(({ key, filename }) =>
      gateways.map((gateway) => ({ gateway, run, key, filename })),
    ),
  );
  const shown: ShownFile[] = [];
  const readOn = async (): Promise<void> => {
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      const { gateway, run, key, filename } = next;
      const { origin } = new URL(gateway);
      const url = `${origin}/outputs/${key}/${encodeURIComponent(filename)}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) });
      const content = Buffer.from(await response.arrayBuffer());
      const sha256 = createHash('sha256').update(content).digest('hex');
      shown.push({ gateway, run, key, status: response.status, sha256 });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return shown;
};
