import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execForm, imageOf, readDockerfile, valuesOf } from './read-dockerfile.ts';
import type { Step } from './read-dockerfile.ts';
import { manifestOf, neededBy, ROOT } from './workspaces.ts';

const OURS = ['gateway', 'scheduler', 'gpu-executor', 'notifier']
  .map((name) => `services/${name}`)
  .concat('apps/cli');
const FILES = [...OURS, 'deploy/nats'].map((folder) => `${folder}/Dockerfile`);
/** Besides the workspaces. */
const HEALTHCHECK = 'deploy/docker/ask-ready.mjs';
const NODE_VERSION = readFileSync(join(ROOT, '.node-version'), 'utf8').trim();

/** A tag of a patch release, or a digest: the image does not change by itself. */
const PINNED = /:\d+\.\d+\.\d+(-[a-z0-9.-]+)?$|@sha256:[0-9a-f]{64}$/;

describe('the Dockerfiles of the repository', () => {
  it('are all tested here', () => {
    const found = globSync(['Dockerfile*', '*/Dockerfile*', '*/*/Dockerfile*'], { cwd: ROOT });
    expect(found.toSorted()).toEqual(FILES.toSorted());
  });
});

describe.each(FILES)('%s', (file) => {
  const stages = readDockerfile(file);
  const names = stages.map(({ name }) => name);
  const { base, steps } = imageOf(stages);

  it('builds on pinned images', () => {
    const bases = stages.map((stage) => stage.base).filter((image) => !names.includes(image));
    for (const image of [...bases, base]) expect(image).toMatch(PINNED);
  });

  it('copies only named files, and downloads nothing with ADD', () => {
    expect(stages.flatMap((stage) => stage.steps).filter(({ keyword }) => keyword === 'ADD')).toEqual([]);
  });

  // A checkout under umask 077 has files that only its owner can read.
  it('lets its user read every file that it copies, whatever modes the checkout has', () => {
    const copies = stages.flatMap((stage) => stage.steps).filter(({ keyword }) => keyword === 'COPY');
    const ours = copies.filter(({ from }) => from === undefined);
    expect(ours).not.toEqual([]);
    expect(ours.filter(({ chmod }) => !/^0[57]55$/.test(chmod ?? ''))).toEqual([]);
  });

  it('runs as a numbered user without privileges', () => {
    expect(steps.findLast(({ keyword }) => keyword === 'USER')?.text).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('starts its program without a shell, which would swallow signals', () => {
    expect(execForm(steps, 'ENTRYPOINT')).toBeDefined();
    expect(steps.findLast(({ keyword }) => keyword === 'STOPSIGNAL')?.text).toBe('SIGTERM');
  });

  it('has a health check', () => {
    expect(steps.findLast(({ keyword }) => keyword === 'HEALTHCHECK')?.text).toMatch(/CMD \[|^NONE$/);
  });

  it('has labels', () => {
    const label = (name: string): string => `org.opencontainers.image.${name}`;
    expect(valuesOf(steps, 'LABEL')).toEqual({
      [label('title')]: expect.stringMatching(/./),
      [label('description')]: expect.stringMatching(/./),
      [label('version')]: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      [label('licenses')]: 'Apache-2.0',
    });
  });

  it('passes hadolint', (context) => {
    const { error, stdout, stderr, status } = spawnSync('hadolint', [join(ROOT, file)], { encoding: 'utf8' });
    if (error !== undefined) return context.skip(`hadolint cannot be run: ${error.message}`);
    expect({ stdout, stderr, status }).toEqual({ stdout: '', stderr: '', status: 0 });
  });
});

describe('the image of the gateway', () => {
  it('contains the console, as its workspace builds it, and serves it', () => {
    const stages = readDockerfile('services/gateway/Dockerfile');
    const { steps } = imageOf(stages);
    const build = stages
      .find(({ name }) => name === 'console')
      ?.steps.find(({ keyword }) => keyword === 'RUN');
    expect(build?.text).toContain('npm ci --workspace apps/console ');
    expect(build?.text).toContain('vite build apps/console --outDir /console');
    const copy = steps.find(({ keyword, from }) => keyword === 'COPY' && from === 'console');
    expect(copy?.words).toEqual(['/console', './console']);
    expect(valuesOf(steps, 'ENV')['RUNLEDGER_CONSOLE']).toBe('/app/console');
  });
});

describe.each(OURS)('the image of %s', (folder) => {
  const stages = readDockerfile(`${folder}/Dockerfile`);
  const { base, steps } = imageOf(stages);
  const [dependencies] = stages;
  /** The paths that are copied from the repository. */
  const copied = (all: readonly Step[]): string[] =>
    all
      .filter(({ keyword, from }) => keyword === 'COPY' && from === undefined)
      .flatMap(({ words }) => words.slice(0, -1));

  it('has the Node of the repository', () => {
    expect(base.startsWith(`node:${NODE_VERSION}-`)).toBe(true);
    expect(dependencies?.base).toBe(base);
  });

  it('is built in stages, and npm runs in no shipped stage', () => {
    expect(dependencies?.name).toBe('dependencies');
    expect(steps.some(({ keyword, text }) => keyword === 'RUN' && text.includes('npm'))).toBe(false);
  });

  it('has only the production dependencies of its workspace, as locked', () => {
    const run = dependencies?.steps.find(({ keyword }) => keyword === 'RUN')?.text;
    expect(run).toContain(
      `npm ci --workspace ${folder} --include-workspace-root=false --omit=dev --ignore-scripts`,
    );
  });

  it('resolves dependencies from the manifests of exactly the workspaces that it needs', () => {
    const manifests = neededBy(folder).map((needed) => `${needed}/package.json`);
    expect(copied(dependencies?.steps ?? []).toSorted()).toEqual(
      ['.npmrc', 'package.json', 'package-lock.json', ...manifests].toSorted(),
    );
  });

  it('contains exactly the workspaces that it needs', () => {
    const workspaces = copied(steps).filter((path) => path !== HEALTHCHECK);
    expect(workspaces.toSorted()).toEqual(neededBy(folder));
  });

  it('has the version of its workspace', () => {
    const version = valuesOf(steps, 'LABEL')['org.opencontainers.image.version'];
    expect(version).toBe(manifestOf(folder).version);
  });
});
