import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { closedLoop, warmUp, QUEUE, queueBody } from '../load.ts';
import type { Readings } from './figures.ts';

/** As many as of ended runs: a generator takes longer for many requests than for one. */
const GETS = Array.from({ length: 1_000 }, (_, n) => `run/${String(n).padStart(36, '0')}`);

/** A bare Koa server under the same load: what machine and load generator allow. */
export const httpFloor = async (seconds: number): Promise<Readings> => {
  const server = fork(fileURLToPath(new URL('../floor/koa-floor.ts', import.meta.url)));
  try {
    const [{ port }] = (await once(server, 'message')) as [AddressInfo];
    const api = { url: `http://127.0.0.1:${port}/`, key: 'none' };
    const post = { paths: [QUEUE.slice(1)], bodies: [queueBody('floor')] };
    await warmUp(api, post, seconds);
    return {
      'floor.post': (await closedLoop(api, post, { seconds })).perSecond,
      'floor.get': (await closedLoop(api, { paths: GETS }, { seconds })).perSecond,
    };
  } finally {
    server.kill();
  }
};
