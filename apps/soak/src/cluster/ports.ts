import { isPortFree } from '@runledger/local-servers/free-port';

/** Below those that systems give to whoever asks for any: nobody takes one of these while its process is down. */
const FIRST = 15_000;
const LAST = 29_000;
const MOST_TRIES = 1_000;

/** Free ports of loopback, each another one; `random` is from 0 to below 1. */
export const lastingPorts = async (count: number, random: () => number): Promise<number[]> => {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MOST_TRIES) throw new Error(`No ${count} free ports were found from ${FIRST} to ${LAST}.`);
    const port = FIRST + Math.floor(random() * (LAST - FIRST));
    if (await isPortFree(port)) ports.add(port);
  }
  return [...ports];
};
