/**
 * Writes the digest behind each image of a registry, in all Dockerfiles and compose files: `node scripts/run.mjs
 * scripts/release/pin-images.ts`. It asks the registries by `docker buildx`, with its credentials and mirrors. If one gives no
 * answer, no file changes.
 */
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@runledger/local-servers/run-command';
import { messageOf } from '@runledger/resilience/errors';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const ROOT = join(import.meta.dirname, '..', '..');
const FILES = ['{apps,services,deploy}/*/Dockerfile', 'docker-compose*.yml'];
/** The images that are built here have no digest before they are built. */
const IMAGE = /^(ARG \w+_IMAGE=| +image: )(?!runledger\/)([^\s@]+)(@sha256:[0-9a-f]{64})?$/gm;
const WITHIN_MS = 60_000;

const Manifest = Type.Object({ digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) });

/** Asks the registry of an image, such as `mongo:8.0.15`, for its digest: for an image of several processors, that of the list. */
const digestOf = async (image: string): Promise<string> => {
  const args = ['buildx', 'imagetools', 'inspect', image, '--format', '{{json .Manifest}}'];
  const answer = await runCommand('docker', args, { env: process.env, withinMs: WITHIN_MS });
  if (!answer.ok) throw new Error(answer.why);
  return Value.Parse(Manifest, JSON.parse(answer.stdout)).digest;
};

/**
 * Returns the images with their digests.
 * @throws Error that names the images whose registry gave no answer
 */
export const pinImages = async (
  root: string = ROOT,
  ask: (image: string) => Promise<string> = digestOf,
): Promise<string[]> => {
  const files = await readFiles(root);
  const names = [...new Set(files.flatMap(({ text }) => imagesIn(text).map(({ name }) => name)))];
  const answers = await Promise.allSettled(names.map(ask));
  const failed = answers.flatMap((answer, index) =>
    answer.status === 'rejected' ? [`${names[index]}: ${messageOf(answer.reason)}`] : [],
  );
  if (failed.length > 0)
    throw new Error(`No file was changed: these digests cannot be found.\n${failed.join('\n')}`);
  const digests = new Map(
    answers.map((answer, index) => [names[index], answer.status === 'fulfilled' ? answer.value : '']),
  );
  for (const { path, text } of files) {
    const pinned = text.replaceAll(
      IMAGE,
      (_all, before: string, name: string) => `${before}${name}@${digests.get(name)}`,
    );
    if (pinned !== text) await writeFile(path, pinned);
  }
  return names.map((name) => `${name}@${digests.get(name)}`);
};

/** The images that a registry may replace, because a file names them without a digest. */
export const imagesWithoutDigest = async (root: string = ROOT): Promise<string[]> => {
  const images = (await readFiles(root)).flatMap(({ text }) => imagesIn(text));
  return [...new Set(images.filter(({ digest }) => digest === undefined).map(({ name }) => name))];
};

const imagesIn = (text: string): { name: string; digest: string | undefined }[] =>
  [...text.matchAll(IMAGE)].map(([, , name = '', digest]) => ({ name, digest }));

const readFiles = (root: string): Promise<{ path: string; text: string }[]> =>
  Promise.all(
    globSync(FILES, { cwd: root }).map(async (file) => {
      const path = join(root, file);
      return { path, text: await readFile(path, 'utf8') };
    }),
  );

if (import.meta.main) {
  try {
    for (const image of await pinImages()) console.log(image);
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
