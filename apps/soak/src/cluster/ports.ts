import { isPortFree } from '@runledger/local-servers/free-port';

/** Below the ephemeral ports of the system, so that no other process takes one while its owner is down. */
const FIRST_PORT = 15_000;
const LAST_PORT = 29_000;
const MAX_TRIES = 1_000;

/** Different free ports of loopback, chosen at random. */
export const reservedPorts = async (count: number): Promise<number[]> => {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MAX_TRIES)
      throw new Error(`There are no ${count} free ports from ${FIRST_PORT} to ${LAST_PORT}.`);
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isPortFree(port)) ports.add(port);
  }
  return [...ports];
};
