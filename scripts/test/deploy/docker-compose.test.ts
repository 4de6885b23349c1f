import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configSchema as gateway } from '@runledger/gateway/config';
import { configSchema as gpuExecutor } from '@runledger/gpu-executor/config';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { NATS_SERVER_RELEASE } from '@runledger/local-servers/nats-server-release';
import { configSchema as notifier } from '@runledger/notifier/config';
import { configSchema as scheduler } from '@runledger/scheduler/config';
import { describeConfig } from '@runledger/service-kit/config';
import { CLI_IMAGE } from '@runledger/testing/servers/containers';
import { MONGO_IMAGE } from '@runledger/testing/servers/shared-mongo';
import { DCLinter } from 'dclint';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  environmentOf,
  extendedServicesOf,
  listOf,
  readCompose,
  secretsOf,
  servicesOf,
  type Service,
} from './read-compose.ts';
import { execForm, imageOf, readDockerfile, valuesOf, type Step } from './read-dockerfile.ts';
import { manifestOf, members, ROOT } from './workspaces.ts';

const FILES = [
  'docker-compose.yml',
  'docker-compose.cluster.yml',
  'docker-compose.gpu.yml',
  'docker-compose.isolation.yml',
  'docker-compose.watch.yml',
  'docker-compose.cluster.watch.yml',
];
/** They change the executor alone. */
const OF_EXECUTOR = ['docker-compose.gpu.yml', 'docker-compose.isolation.yml'];
const OF_BOTH = 'docker-compose.cluster.watch.yml';
/** The files that Compose reads together with one of them, in their order. */
const readWith = (file: string): string[] =>
  FILES.filter(
    (each) =>
      each === 'docker-compose.yml' || each === file || (file === OF_BOTH && !OF_EXECUTOR.includes(each)),
  );
/** The plugin of Docker's client, and the standalone program. */
const COMPOSE_COMMANDS = [['docker', 'compose'], ['docker-compose']] as const;
const SCHEMAS = { gateway, scheduler, 'gpu-executor': gpuExecutor, notifier };

const compose = readCompose('docker-compose.yml');
const watch = readCompose('docker-compose.watch.yml');
const cluster = readCompose('docker-compose.cluster.yml');
const services = servicesOf(compose);
/** Includes the services of the other files, without their additions to services of the first. */
const allServices = new Map([...servicesOf(watch), ...extendedServicesOf(cluster, compose), ...services]);
/** Without a container, it only builds an image. */
const IMAGE_ONLY = 'gpu-executor-image';
const containers = new Map([...allServices].filter(([name]) => name !== IMAGE_ONLY));
const serviceNamed = (name: string) => members(allServices.get(name));
/** Those that start programs of others. They are root, so that each has another user. */
const EXECUTORS = ['gpu-executor', 'gpu-executor-2'];
const ORDINARY_USER = /^[1-9]\d*:[1-9]\d*$/;
const TO_GIVE_USERS = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'];

/** The service that builds the image of a service: itself, or another one with the same image. */
const buildingOf = (name: string): Service => {
  const { image } = serviceNamed(name);
  const builds = (service: Service): boolean =>
    service['image'] === image && (service['build'] ?? null) !== null;
  return [...allServices.values()].find(builds) ?? {};
};

/** The content of the image of a service that is built here. */
const imageStepsOf = (name: string): Step[] => {
  const {
    context = '.',
    dockerfile = 'Dockerfile',
    target,
  }: Record<string, unknown> = members(buildingOf(name)['build'] ?? {});
  const stages = readDockerfile(join(String(context), String(dockerfile)));
  return imageOf(stages, typeof target === 'string' ? target : undefined).steps;
};
/** Whether the service builds its image, or another one does. */
const isBuilt = (name: string): boolean => 'build' in buildingOf(name);

const succeeds = (command: string, args: readonly string[]): boolean => spawnSync(command, args).status === 0;

describe.each(FILES)('%s', (file) => {
  it('follows the compose specification, and passes a linter', () => {
    const rules = {
      // A file that adds to others takes their project name.
      'require-project-name-field': 0,
      // The built image gets the name in `image`.
      'no-build-and-image': 0,
      // In reading order, and a second file adds to the first one.
      'service-keys-order': 0,
      'services-alphabetical-order': 0,
      'top-level-properties-order': 0,
    } as const;
    const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] });
    const found: unknown = linter.lintFiles([join(ROOT, file)], false);
    expect(found).toEqual([expect.objectContaining({ messages: [] })]);
  });

  it('passes docker compose config', (context) => {
    const found = COMPOSE_COMMANDS.find(([command, ...args]) => succeeds(command, [...args, 'version']));
    if (found === undefined) return context.skip('Docker Compose is not on PATH');
    const [command, ...first] = found;
    const files = readWith(file).flatMap((each) => ['--file', each]);
    expect(
      spawnSync(command, [...first, ...files, 'config', '--quiet'], { cwd: ROOT, encoding: 'utf8' }),
    ).toMatchObject({ stdout: '', stderr: '', status: 0 });
  });
});

describe.each([...containers.keys()])('the container of %s', (name) => {
  const service = serviceNamed(name);

  it('has a read-only file system, no capabilities that it does not need, and no way to gain privileges', () => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service).not.toHaveProperty('privileged');
    expect(listOf(service, 'cap_add')).toEqual(EXECUTORS.includes(name) ? TO_GIVE_USERS : []);
  });

  it('runs as a user without privileges, or as one who gives each program such a user', () => {
    const inImage = isBuilt(name)
      ? imageStepsOf(name).findLast(({ keyword }) => keyword === 'USER')
      : undefined;
    const user = service['user'] ?? inImage?.text;
    expect(user).toMatch(EXECUTORS.includes(name) ? /^0:0$/ : ORDINARY_USER);
  });

  it('has an init that reaps orphaned processes', () => {
    expect(service['init']).toBe(true);
  });

  it('has limits for processor, memory and processes', () => {
    expect(service).toHaveProperty('deploy.resources.limits', {
      cpus: expect.anything(),
      memory: expect.stringMatching(/^\d+[mg]$/),
      pids: expect.any(Number),
    });
  });

  it('is restarted when it ends, unless it is a job', () => {
    expect(service['restart']).toBe(isJob(name) ? 'no' : 'unless-stopped');
  });

  it('has a health check, unless it is a job', () => {
    if (isJob(name)) return;
    const inImage = isBuilt(name)
      ? imageStepsOf(name).find(({ keyword }) => keyword === 'HEALTHCHECK')
      : undefined;
    expect(service['healthcheck'] ?? inImage).toBeDefined();
  });

  it('has an image of this release, or a pinned image', () => {
    const own = isBuilt(name) && !name.startsWith('nats');
    expect(service['image']).toMatch(
      own
        ? new RegExp(`^runledger/[a-z-]+:${manifestOf('apps/cli').version}$`)
        : /:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$/,
    );
  });

  it('gets only existing secrets', () => {
    const there = [compose, cluster, watch].flatMap((file) => Object.keys(members(file['secrets'])));
    expect(there).toEqual(expect.arrayContaining(secretsOf(service)));
  });
});

/** scripts/release/pin-images.ts writes a digest behind a tag. */
const withoutDigest = (image: unknown): string => String(image).split('@')[0] ?? '';

const isJob = (name: string): boolean => ['provision', 'mongodb-replica-set', 'runledger'].includes(name);

describe.each(Object.entries(SCHEMAS))('the settings of %s', (name, schema) => {
  const service = serviceNamed(name);
  const steps = imageStepsOf(name);
  const given = {
    ...valuesOf(steps, 'ENV'),
    ...environmentOf(service),
    ...environmentOf(members(servicesOf(watch).get(name))),
    ...environmentOf(members(servicesOf(cluster).get(name))),
  };
  const rows = describeConfig(schema);

  it('are all known to it', () => {
    const known = rows.flatMap((row) => (row.secret ? [row.name, `${row.name}_FILE`] : [row.name]));
    // For Node itself.
    expect([...known, 'NODE_ENV']).toEqual(expect.arrayContaining(Object.keys(given)));
  });

  it('include all required settings', () => {
    const required = rows.filter((row) => row.required).map((row) => row.name);
    const there = Object.keys(given).map((each) => each.replace(/_FILE$/, ''));
    expect(there).toEqual(expect.arrayContaining(required));
  });

  it('name secrets by mounted files, and never by value', () => {
    const secret = rows.filter((row) => row.secret).map((row) => row.name);
    expect(Object.keys(given).filter((each) => secret.includes(each))).toEqual([]);
    const files = Object.entries(given).flatMap(([each, value]) => (each.endsWith('_FILE') ? [value] : []));
    expect(files.toSorted()).toEqual(
      listOf(service, 'secrets')
        .map((each) => `/run/secrets/${each}`)
        .toSorted(),
    );
  });

  it('start the main file of the service', () => {
    expect(execForm(steps, 'ENTRYPOINT')).toEqual(['node', `services/${name}/src/main.ts`]);
    expect(existsSync(join(ROOT, `services/${name}/src/main.ts`))).toBe(true);
  });
});

describe('the networks of docker-compose.yml', () => {
  it('connect the broker and the database to no other network', () => {
    expect(members(compose['networks'])).toMatchObject({
      broker: { internal: true },
      database: { internal: true },
    });
    expect(listOf(serviceNamed('nats'), 'networks')).toEqual(['broker']);
    expect(listOf(serviceNamed('mongodb'), 'networks')).toEqual(['database']);
  });

  it('connect the database to the gateway only', () => {
    const there = [...services.keys()].filter((name) =>
      listOf(serviceNamed(name), 'networks').includes('database'),
    );
    expect(there.toSorted()).toEqual(['gateway', 'mongodb', 'mongodb-replica-set']);
  });

  it('publish only the port of the gateway, by default only on this machine', () => {
    expect([...services.keys()].filter((name) => 'ports' in serviceNamed(name))).toEqual(['gateway']);
    expect(serviceNamed('gateway')['ports']).toEqual([
      { host_ip: '127.0.0.1', published: 8080, target: 8080 },
    ]);
  });
});

describe('the images of docker-compose.yml', () => {
  it.each(Object.keys(SCHEMAS))(
    'begin as a user without privileges, wherever they are started: %s',
    (name) => {
      const user = imageStepsOf(name).findLast(({ keyword }) => keyword === 'USER')?.text;
      expect(user).toMatch(ORDINARY_USER);
    },
  );

  it('include the MongoDB of the tests, for the server and its job', () => {
    expect(withoutDigest(serviceNamed('mongodb')['image'])).toBe(MONGO_IMAGE);
    expect(serviceNamed('mongodb-replica-set')['image']).toBe(serviceNamed('mongodb')['image']);
  });

  it('include the command line tool that tests run in a container', () => {
    expect(serviceNamed('provision')['image']).toBe(CLI_IMAGE);
  });

  it('include the executor without a program, which no container runs', () => {
    const { version } = manifestOf('services/gpu-executor');
    expect(serviceNamed(IMAGE_ONLY)).toEqual({
      build: expect.objectContaining({ target: 'executor', tags: ['runledger/gpu-executor'] }),
      image: `runledger/gpu-executor:${version}`,
      deploy: { replicas: 0 },
    });
    const { build, image } = members(servicesOf(readCompose('docker-compose.gpu.yml')).get('gpu-executor'));
    expect([build, image]).toEqual([null, serviceNamed(IMAGE_ONLY)['image']]);
  });

  it.each(['docker-compose.yml', 'docker-compose.cluster.yml'])(
    'are built by one service each in %s',
    (file) => {
      const together = new Map([
        ...services,
        ...(file === 'docker-compose.yml' ? [] : extendedServicesOf(cluster, compose)),
      ]);
      const built = [...together.values()].filter(({ build }) => build !== undefined && build !== null);
      const images = built.map(({ image }) => String(image));
      expect(images.toSorted()).toEqual([...new Set(images)].toSorted());
      // And every image of ours by one.
      const ours = [...together.values()]
        .map(({ image }) => String(image))
        .filter((image) => image.startsWith('runledger/'));
      expect(images).toEqual(expect.arrayContaining(ours));
    },
  );

  it('include the nats-server version that is downloaded without Docker', () => {
    const { version } = NATS_SERVER_RELEASE;
    expect(serviceNamed('nats')['image']).toBe(`runledger/nats:${version}`);
    expect(withoutDigest(imageOf(readDockerfile('deploy/nats/Dockerfile')).base)).toBe(
      `nats:${version}-alpine`,
    );
  });
});

describe('docker-compose.cluster.yml', () => {
  const services = servicesOf(cluster);
  const extended = extendedServicesOf(cluster, compose);
  const brokers = ['nats', 'nats-2', 'nats-3'];

  it('gives every client the addresses of all brokers', () => {
    const clients = [...services].filter(([name]) => !brokers.includes(name));
    expect(clients.map(([name]) => name)).toEqual(
      expect.arrayContaining(['provision', 'runledger', 'gateway', 'scheduler', 'gpu-executor', 'notifier']),
    );
    for (const [name, service] of clients) {
      const { NATS_URL, RUNLEDGER_NATS_URL } = environmentOf(service);
      const url = 'nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222';
      expect([name, NATS_URL ?? RUNLEDGER_NATS_URL]).toEqual([name, url]);
    }
  });

  it('has two processes of each service, and two executors with a name and a seed of their own', () => {
    for (const name of ['gateway', 'scheduler', 'notifier'])
      expect([name, services.get(name)]).toEqual([
        name,
        expect.objectContaining({ deploy: { replicas: 2 } }),
      ]);
    const second = members(extended.get('gpu-executor-2'));
    expect(environmentOf(second)).toMatchObject({ EXECUTOR_NAME: 'gpu-2' });
    // In place of the seed of the first.
    expect(second['secrets']).toEqual([
      'health-token',
      { source: 'nats-executor-2', target: 'nats-executor' },
    ]);
  });

  it('mounts for each broker its own configuration, certificate and key', () => {
    const files = {
      ...members(compose['configs']),
      ...members(cluster['configs']),
      ...members(cluster['secrets']),
    };
    for (const [n, name] of brokers.entries()) {
      const own = members(services.get(name));
      const entries = [own['configs'], own['secrets']].flatMap((list) => (Array.isArray(list) ? list : []));
      const mounted = Object.fromEntries(
        entries.map((entry: unknown) => {
          const { source, target } = members(entry);
          return [String(target), String(members(files[String(source)])['file'])];
        }),
      );
      const folder = './deploy/secrets/nats/nodes';
      expect(mounted).toMatchObject({
        '/etc/nats/authority.crt': `${folder}/authority.crt`,
        '/etc/nats/route.crt': `${folder}/nats-${n + 1}/route.crt`,
        '/etc/nats/route.key': `${folder}/nats-${n + 1}/route.key`,
      });
      // The first one keeps the name of its file.
      expect(mounted['/etc/nats/nats.conf'] ?? members(files['nats'])['file']).toBe(
        `${folder}/nats-${n + 1}/nats.conf`,
      );
    }
  });

  // A broker with data that becomes part of a cluster deletes its data.
  it('is a project of its own, whatever files are added, and uses no volume of a single broker', () => {
    // The name in the last file wins.
    const named = FILES.filter((file) => 'name' in readCompose(file));
    expect(named).toEqual(['docker-compose.yml', 'docker-compose.cluster.yml']);
    expect(cluster['name']).not.toBe(compose['name']);
    const volumes = brokers.map((name) => members(services.get(name))['volumes']);
    expect(volumes).toEqual([['nats-1:/data'], ['nats-2:/data'], ['nats-3:/data']]);
    expect(members(compose['volumes'])).not.toHaveProperty('nats-1');
  });
});

describe('the health check in the image of the broker', () => {
  it('lets docker compose up wait while it reads its log, or the others of a new cluster are missing', () => {
    // A check that fails within this time makes no container unhealthy.
    expect(readFileSync(join(ROOT, 'deploy/nats/Dockerfile'), 'utf8')).toMatch(
      /^HEALTHCHECK .*--start-period=15m/m,
    );
    const { depends_on: waitsFor } = members(servicesOf(cluster).get('provision'));
    for (const name of ['nats-2', 'nats-3'])
      expect(waitsFor).toHaveProperty(name, { condition: 'service_healthy' });
    expect(serviceNamed('provision')['depends_on']).toEqual({ nats: { condition: 'service_healthy' } });
  });
});

describe('Prometheus of docker-compose.watch.yml', () => {
  const { scrape_configs: jobs } = members(
    parse(readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), 'utf8')),
  );

  it('scrapes every service with the token by which that shows its metrics', () => {
    const token = '/run/secrets/health-token';
    expect(jobs).toEqual(
      Object.keys(SCHEMAS).map((job_name) =>
        expect.objectContaining({ job_name, authorization: { credentials_file: token } }),
      ),
    );
    expect(secretsOf(serviceNamed('prometheus'))).toContain('health-token');
    for (const name of [...Object.keys(SCHEMAS), 'gpu-executor-2'])
      expect([name, environmentOf(serviceNamed(name))['RUNLEDGER_HEALTH_TOKEN_FILE']]).toEqual([name, token]);
  });
});

describe('docker-compose.cluster.watch.yml', () => {
  const second = members(servicesOf(readCompose(OF_BOTH)).get('gpu-executor-2'));
  const first = members(servicesOf(watch).get('gpu-executor'));

  it('adds to the second executor what the first one gets, and no other service', () => {
    expect(extendedServicesOf(cluster, compose).keys().toArray()).toEqual(
      expect.arrayContaining(servicesOf(readCompose(OF_BOTH)).keys().toArray()),
    );
    expect(environmentOf(second)).toEqual(environmentOf(first));
    expect(Object.keys(members(second['networks']))).toEqual(listOf(first, 'networks'));
  });

  it('gives it the name that Prometheus scrapes', () => {
    const prometheus = members(parse(readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), 'utf8')));
    expect(prometheus['scrape_configs']).toContainEqual(
      expect.objectContaining({
        job_name: 'gpu-executor',
        dns_sd_configs: [expect.objectContaining({ names: ['gpu-executor'], type: 'A' })],
      }),
    );
    expect(second['networks']).toEqual({ watch: { aliases: ['gpu-executor'] } });
  });
});

describe('the broker of docker-compose.yml', () => {
  it('has a configuration that nats-server accepts', async () => {
    await using temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-broker-'));
    const config = readFileSync(join(ROOT, 'deploy/nats/nats.conf'), 'utf8');
    await writeFile(join(temporary.path, 'nats.conf'), config);
    await writeFile(join(temporary.path, 'broker.conf'), 'accounts { LOG { jetstream: enabled } }\n');
    const { path } = await findNatsServer({ env: process.env });
    const checked = spawnSync(path, ['-t', '--config', join(temporary.path, 'nats.conf')], {
      encoding: 'utf8',
    });
    expect(checked).toMatchObject({ status: 0, stderr: expect.stringContaining('is valid') });
  });
});
