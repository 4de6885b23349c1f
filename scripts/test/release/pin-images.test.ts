import { cp, mkdir, mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { imagesWithoutDigest, pinImages } from '../../release/pin-images.ts';
import { ROOT } from '../deploy/workspaces.ts';

const FILES = ['docker-compose.yml', 'deploy/nats/Dockerfile', 'services/gateway/Dockerfile'];
/** In place of the registries, which most machines that run tests cannot reach. */
const digestOf = (image: string): Promise<string> =>
  Promise.resolve(`sha256:${Buffer.from(image).toString('hex').padEnd(64, '0').slice(0, 64)}`);

const copyOfFiles = async () => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'runledger-images-'));
  for (const file of FILES) {
    await mkdir(join(folder.path, dirname(file)), { recursive: true });
    await cp(join(ROOT, file), join(folder.path, file));
  }
  return {
    root: folder.path,
    read: (file: string) => readFile(join(folder.path, file), 'utf8'),
    [Symbol.asyncDispose]: () => folder.remove(),
  };
};

describe('the images of Dockerfiles and compose files', () => {
  it('get the digests of their registries, except those that are built here', async () => {
    await using copy = await copyOfFiles();
    const pinned = await pinImages(copy.root, digestOf);
    expect(pinned.map((image) => image.replace(/:.*/, '')).toSorted()).toEqual(['mongo', 'nats', 'node']);
    expect(await imagesWithoutDigest(copy.root)).toEqual([]);
    expect(await copy.read('services/gateway/Dockerfile')).toMatch(
      /^ARG NODE_IMAGE=node:[\w.-]+@sha256:[0-9a-f]{64}$/m,
    );
    const compose = await copy.read('docker-compose.yml');
    expect(compose).toMatch(/^ {4}image: mongo:[\d.]+@sha256:[0-9a-f]{64}$/m);
    expect(compose).toMatch(/^ {4}image: runledger\/gateway:[\d.]+$/m);
  });

  it('get new digests in the place of the old ones', async () => {
    await using copy = await copyOfFiles();
    await pinImages(copy.root, digestOf);
    const digest = `sha256:${'f'.repeat(64)}`;
    await pinImages(copy.root, () => Promise.resolve(digest));
    expect(await copy.read('deploy/nats/Dockerfile')).toMatch(
      new RegExp(`^ARG NATS_IMAGE=nats:[\\w.-]+@${digest}$`, 'm'),
    );
  });

  it('all stay as they are if one registry gives no answer, which is said', async () => {
    await using copy = await copyOfFiles();
    const before = await Promise.all(FILES.map(copy.read));
    const pinning = pinImages(copy.root, (image) =>
      image.startsWith('mongo:') ? Promise.reject(new Error('connection refused')) : digestOf(image),
    );
    await expect(pinning).rejects.toThrow(/No file was changed.*mongo:[\d.]+: connection refused/s);
    expect(await Promise.all(FILES.map(copy.read))).toEqual(before);
  });
});
