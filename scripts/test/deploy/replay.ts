import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { execForm, imageOf, readDockerfile, valuesOf } from './read-dockerfile.ts';
import type { Stage } from './read-dockerfile.ts';
import { manifestOf, ROOT } from './workspaces.ts';

/** What a container of the image starts, in the folder that stands for its `/app`. */
export interface Replayed {
  readonly folder: string;
  readonly entrypoint: readonly string[];
  readonly healthcheck: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Lays out in `folder` what the image of a Dockerfile holds in `/app`: each COPY is done as Docker does it, without what
 * .dockerignore names. What `npm ci` installs is linked to what is installed here: the packages of others all, our
 * own only those whose manifests the stage has.
 */
export const replay = (dockerfile: string, folder: string, target?: string): Replayed => {
  const stages = readDockerfile(dockerfile);
  const { steps } = imageOf(stages, target);
  for (const { keyword, words, from: stage } of steps) {
    if (keyword !== 'COPY') continue;
    const [source = '', destination = ''] = words;
    if (stage === undefined) copyFromContext(source, join(folder, destination));
    else if (source === '/app') linkInstalled(named(stages, stage), folder);
    else linkOnce(join(ROOT, relative('/app', source)), join(folder, destination));
  }
  const entrypoint = (execForm(steps, 'ENTRYPOINT') ?? []).map((word) =>
    word.replace(/^node$/, process.execPath),
  );
  const env = Object.fromEntries(
    Object.entries(valuesOf(steps, 'ENV')).map(([name, value]) => [
      name,
      value.replaceAll('/app/', `${folder}/`),
    ]),
  );
  return { folder, entrypoint, healthcheck: execForm(steps, 'HEALTHCHECK') ?? [], env };
};

const named = (stages: readonly Stage[], name: string): Stage => {
  const found = stages.find((stage) => stage.name === name);
  if (found === undefined) throw new Error(`There is no stage ${name}`);
  return found;
};

const copyFromContext = (source: string, destination: string): void => {
  const from = join(ROOT, source);
  const to = statSync(from).isFile() ? join(destination, basename(source)) : destination;
  cpSync(from, to, { recursive: true, filter: (path) => !isLeftOut(relative(ROOT, path)) });
};

const IGNORED = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** As Docker reads it: a pattern is about a path and all below, and the last one that is about a path decides. */
const isLeftOut = (path: string): boolean => {
  const above = path.split('/').map((_name, at, names) => names.slice(0, at + 1).join('/'));
  const decides = IGNORED.findLast((line) => above.some((each) => matchesGlob(each, line.replace(/^!/, ''))));
  return decides?.startsWith('!') === false;
};

const linkInstalled = (stage: Stage, folder: string): void => {
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@runledger' && !name.startsWith('.'))
      linkOnce(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  for (const { keyword, words } of stage.steps) {
    const workspace = keyword === 'COPY' ? dirname(words[0] ?? '') : '.';
    if (workspace === '.') continue;
    linkOnce(join(folder, workspace), join(folder, 'node_modules', manifestOf(workspace).name));
    const nested = join(workspace, 'node_modules');
    if (existsSync(join(ROOT, nested))) linkOnce(join(ROOT, nested), join(folder, nested));
  }
};

const linkOnce = (target: string, path: string): void => {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
};
