import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';

/**
 * What the store does with the objects of an organisation. `missing`: it has lost those that it had. `damaged`: it gives back other bytes
 * than it took. `slow`: it does what it is told, and says so too late.
 */
export type ArchiveFailure = 'missing' | 'damaged' | 'slow';

/** What came of a failure. */
export interface FailedObjects {
  /** Answers that were wrong or late. */
  readonly wrong: number;
  /** Objects of other organisations that were stored meanwhile. */
  readonly others: number;
  /** The runs whose objects were missing. */
  readonly missing: ReadonlySet<string>;
  /** Those of them that were archived again meanwhile, with what the log still had: what the lost object had before is lost with it. */
  readonly replaced: ReadonlySet<string>;
}

/** An S3-compatible store for the archive, in this process, whose objects fail for one organisation and not for another. */
export interface ArchiveStore extends AsyncDisposable {
  /** For a gateway. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on; only runs of `ended` may be missing, since the log may have forgotten the beginning of one that goes on. `putBack`: the objects are there again, unless somebody has replaced or removed them since. */
  readonly fail: (
    org_ids: readonly string[],
    failure: ArchiveFailure,
    ended: ReadonlySet<string>,
  ) => { readonly wasSeen: () => boolean; readonly putBack: () => FailedObjects };
  readonly objects: () => readonly { readonly key: RunKey; readonly bytes: Buffer }[];
}

const BUCKET = 'soak';
const PREFIX = 'archive/';
/** A gateway waits ten seconds. */
const SLOW_MS = 12_000;

interface StoredObject {
  readonly bytes: Buffer;
  readonly storedAt: Date;
}

interface Failing {
  readonly org_ids: ReadonlySet<string>;
  readonly failure: ArchiveFailure;
  readonly missing: Set<string>;
  wrong: number;
  others: number;
}

export const openArchiveStore = async (): Promise<ArchiveStore> => {
  const objects = new Map<string, StoredObject>();
  let failing: Failing | undefined;

  const failureOf = (name: string): Failing | undefined =>
    failing?.org_ids.has(orgOf(name)) === true ? failing : undefined;
  const isMissing = (name: string): boolean => failing?.missing.has(name) ?? false;
  /** Each is done in one step. Undefined: there is no such object. */
  const access = (method: string, name: string, body: Buffer): Buffer | undefined => {
    switch (method) {
      case 'PUT':
        objects.set(name, { bytes: body, storedAt: new Date() });
        failing?.missing.delete(name);
        if (failing && !failing.org_ids.has(orgOf(name))) failing.others += 1;
        return NOTHING;
      case 'DELETE':
        objects.delete(name);
        return NOTHING;
      default:
        return isMissing(name) ? undefined : objects.get(name)?.bytes;
    }
  };
  const answer = async (method: string, name: string, body: Buffer): Promise<Buffer | undefined> => {
    const one = failureOf(name);
    const found = access(method, name, body);
    if (one?.failure === 'slow') {
      one.wrong += 1;
      await pause(SLOW_MS, undefined, { ref: false });
    }
    if (one?.missing.has(name) === true) one.wrong += 1;
    if (one?.failure !== 'damaged' || method !== 'GET' || !found) return found;
    one.wrong += 1;
    return Buffer.concat([found.subarray(0, -1), Buffer.from([(found.at(-1) ?? 0) ^ 255])]);
  };

  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '' } = request;
      const { pathname, searchParams } = new URL(url, 'http://store');
      const name = pathname.slice(`/${BUCKET}/`.length);
      const body = await bodyOf(request);
      if (name === '') {
        const names = [...objects.keys()].filter((one) => !isMissing(one));
        if (failing && names.length < objects.size) failing.wrong += 1;
        return response.end(listOf(names, searchParams, objects));
      }
      const found = await answer(method, name, body);
      if (found) return response.end(found);
      return response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    })().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    env: {
      RUNLEDGER_ARCHIVE: 's3',
      RUNLEDGER_ARCHIVE_S3_PREFIX: PREFIX,
      RUNLEDGER_OUTPUTS_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      RUNLEDGER_OUTPUTS_S3_BUCKET: BUCKET,
      RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: 'soak',
      RUNLEDGER_OUTPUTS_S3_SECRET_KEY: 'a-secret-of-the-soak',
    },
    fail: (org_ids, failure, ended) => {
      const own = new Set(org_ids);
      const lost =
        failure === 'missing'
          ? [...objects.keys()].filter((name) => own.has(orgOf(name)) && ended.has(runOf(name)))
          : [];
      const began: Failing = { org_ids: own, failure, missing: new Set(lost), wrong: 0, others: 0 };
      failing = began;
      return {
        wasSeen: () => began.wrong > 0,
        putBack: () => {
          failing = undefined;
          const { wrong, others } = began;
          const replaced = lost.filter((name) => !began.missing.has(name) && objects.has(name));
          return { wrong, others, missing: new Set(lost.map(runOf)), replaced: new Set(replaced.map(runOf)) };
        },
      };
    },
    objects: () =>
      [...objects].map(([name, { bytes }]) => ({
        key: { org_id: orgId(orgOf(name)), run_id: runId(runOf(name)) },
        bytes,
      })),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const NOTHING = Buffer.alloc(0);

/** An object is called `<prefix><organisation>/<run>`. */
const orgOf = (name: string): string => name.slice(PREFIX.length).split('/')[0] ?? '';
const runOf = (name: string): string => name.slice(PREFIX.length).split('/')[1] ?? '';

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
};

const PAGE = 1_000;

/** A page of names in their order, as ListObjectsV2 gives it. */
const listOf = (
  names: readonly string[],
  query: URLSearchParams,
  objects: ReadonlyMap<string, StoredObject>,
): string => {
  const [prefix, after] = [query.get('prefix') ?? '', query.get('continuation-token') ?? ''];
  const left = names.filter((name) => name.startsWith(prefix) && name > after).toSorted();
  const page = left.slice(0, PAGE);
  const contents = page.map((name) => {
    const time = objects.get(name)?.storedAt.toISOString();
    return `<Contents><Key>${name}</Key><LastModified>${time}</LastModified></Contents>`;
  });
  const next = left.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`;
};
