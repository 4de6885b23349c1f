import { contentTypeOf as contentTypeOfService } from '@runledger/contracts/file-name';
import { describe, expect, it } from 'vitest';
import { contentTypeOf } from '../../src/runs/files.ts';
import { aFakeService, json, LOST, type Step } from '../fixtures/fake-service.ts';
import { whileTimePasses } from '../fixtures/passing-time.ts';

const FILE = { id: 'f1', filename: 'x' };
const MIB = 1024 * 1024;

describe('files in the inputs', () => {
  it('are uploaded before the run is queued, in lists too, and their ids are the inputs', async () => {
    const { client, sent } = aFakeService([
      LOST,
      json(FILE, 201),
      json({ ...FILE, id: 'f2' }, 201),
      json({ run_id: 'r1' }),
    ]);
    const photo = new File(['a fox'], 'fox é.png');
    const inputs = { photo, more: [1, new TextEncoder().encode('bytes')], size: 64, left: undefined };
    await whileTimePasses(() => client.runs.queue('d1', inputs));
    expect(sent.map(({ path }) => path)).toEqual([
      '/files?filename=fox%20%C3%A9.png',
      '/files?filename=fox%20%C3%A9.png',
      '/files?filename=file',
      '/run/deployment/queue',
    ]);
    expect(sent.map(({ headers }) => headers.get('content-type'))).toEqual([
      'image/png',
      'image/png',
      'application/octet-stream',
      'application/json',
    ]);
    expect(sent[1]?.body).toBe('a fox');
    expect(JSON.parse(String(sent[3]?.body)).inputs).toEqual({ photo: 'f1', more: [1, 'f2'], size: 64 });
  });

  it('leave other objects as JSON writes them', async () => {
    const { client, sent } = aFakeService([json({ run_id: 'r1' })]);
    await client.runs.queue('d1', { list: [new Date(0), { a: null }] });
    expect(JSON.parse(String(sent[0]?.body)).inputs).toEqual({
      list: ['1970-01-01T00:00:00.000Z', { a: null }],
    });
  });
});

/** The part of a service that takes resumable uploads, and breaks connections. */
const uploads = (size: number, faults: ReadonlyMap<number, Step>) => {
  let [stored, patches] = [0, 0];
  const state = () => json({ id: 'u1', offset: stored, bytes: size, file: stored === size ? FILE : null });
  const step: Step = (one, signal) => {
    if (one.method !== 'PATCH') return state();
    patches += 1;
    const fault = faults.get(patches);
    if (fault instanceof Error) throw fault;
    if (typeof fault === 'function') return fault(one, signal);
    if (fault) return fault;
    stored += one.bytes;
    return new Response(null, { status: 204 });
  };
  return { step, receive: (bytes: number) => (stored += bytes) };
};

describe('a large file', () => {
  const size = 40 * MIB;
  const upload = (step: Step, retries = 5) => {
    const service = aFakeService([step], { retries });
    const blob = new Blob([new Uint8Array(size)]);
    return {
      ...service,
      file: whileTimePasses(() =>
        service.client.files.upload(blob, { filename: 'é.bin', contentType: 'a/b' }),
      ),
    };
  };

  it('is uploaded in pieces, and continues where a lost connection left it', async () => {
    const service = uploads(
      size,
      new Map<number, Step>([
        [
          2,
          () => {
            service.receive(5 * MIB);
            throw LOST;
          },
        ],
        [3, json({ detail: 'still written' }, 409)],
      ]),
    );
    const { file, sent } = upload(service.step);
    expect(await file).toEqual(FILE);
    expect(sent[0]?.headers.get('upload-length')).toBe(String(size));
    expect(sent[0]?.headers.get('upload-metadata')).toBe('filename w6kuYmlu,filetype YS9i');
    const pieces = sent.filter(({ method }) => method === 'PATCH');
    expect(pieces.map(({ headers }) => Number(headers.get('upload-offset')) / MIB)).toEqual([
      0, 16, 21, 21, 37,
    ]);
  });

  it('is given up when nothing more arrives, and at once when it is refused', async () => {
    const lost = upload(uploads(size, new Map([1, 2, 3].map((at) => [at, LOST] as const))).step, 2);
    await expect(lost.file).rejects.toMatchObject({ name: 'ConnectionFailed' });
    const full = upload(uploads(size, new Map([[1, json({ detail: 'full' }, 507)]])).step);
    await expect(full.file).rejects.toMatchObject({ status: 507 });
  });
});

it('the type of a file is the one that the service knows', () => {
  for (const name of ['a.png', 'A.JPG', 'b.tar.md', 'c.glb', 'c.unknown', 'none', ''])
    expect(contentTypeOf(name) ?? 'application/octet-stream').toBe(contentTypeOfService(name));
});
