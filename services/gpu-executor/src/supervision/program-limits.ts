import { isJsonObject } from '@runledger/contracts/json';

/** What one program may use of the machine, with everything that it starts. Null: as much as there is. */
export interface ProgramLimits {
  readonly memoryBytes: number | null;
  /** With their threads. */
  readonly processes: number;
  /** Of each process. */
  readonly openFiles: number;
  /** Of the folders of its run, its inputs included. */
  readonly diskBytes: number;
  /** Processors that it may keep busy, fractions allowed. */
  readonly cpus: number | null;
  /** Processor time of each process, in seconds. */
  readonly cpuSeconds: number | null;
  /** Of its /tmp, and of its /var/tmp, where it has them for itself. */
  readonly temporaryBytes: number;
}

/** What an entry of the operator says in place of the settings. */
export type OwnLimits = Partial<ProgramLimits>;

/** What supervises the program has the same limits, and is a Node process, which reserves 600 MB. */
export const MIN_MEMORY_BYTES = 1024 ** 3;
export const MIN_PROCESSES = 32;
export const MIN_OPEN_FILES = 64;
export const MIN_DISK_BYTES = 1024 ** 2;
export const MIN_TEMPORARY_BYTES = 1024 ** 2;
export const MIN_CPUS = 0.01;
/** What supervises the program takes some too. */
export const MIN_CPU_SECONDS = 10;

const MEMBERS: Readonly<Record<string, { readonly limit: keyof ProgramLimits; readonly minimum: number }>> = {
  memory_bytes: { limit: 'memoryBytes', minimum: MIN_MEMORY_BYTES },
  processes: { limit: 'processes', minimum: MIN_PROCESSES },
  open_files: { limit: 'openFiles', minimum: MIN_OPEN_FILES },
  disk_bytes: { limit: 'diskBytes', minimum: MIN_DISK_BYTES },
  cpus: { limit: 'cpus', minimum: MIN_CPUS },
  cpu_s: { limit: 'cpuSeconds', minimum: MIN_CPU_SECONDS },
  tmp_bytes: { limit: 'temporaryBytes', minimum: MIN_TEMPORARY_BYTES },
};

/** The limits of an entry, or what is wrong with them, after the name of the thing. */
export const readOwnLimits = (value: unknown): OwnLimits | string => {
  if (!isJsonObject(value)) return 'whose resources are not an object';
  const limits: Partial<Record<keyof ProgramLimits, number>> = {};
  for (const [name, given] of Object.entries(value)) {
    const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
    if (member === undefined)
      return `whose resources have ${JSON.stringify(name)}, which is none of ${Object.keys(MEMBERS).join(', ')}`;
    const isWhole = member.limit === 'cpus' || Number.isSafeInteger(given);
    if (typeof given !== 'number' || !(given >= member.minimum) || !isWhole)
      return `whose ${name} in resources is not a number from ${member.minimum}`;
    limits[member.limit] = given;
  }
  return limits;
};

/** How much of what a program had to be killed for. */
export interface Exceeded {
  readonly resource: 'memory' | 'disk' | 'cache';
  readonly limitBytes: number;
}

/** For who runs the program: what happened, and what to do. */
export const describeExceeded = ({ resource, limitBytes }: Exceeded): string => {
  const given = `the ${limitBytes} bytes that its operator gives it`;
  switch (resource) {
    case 'memory':
      return `it needed more memory than ${given} (EXECUTOR_RUN_MEMORY_BYTES)`;
    case 'disk':
      return `its folders had more than ${given} (EXECUTOR_RUN_DISK_BYTES)`;
    case 'cache':
      return `its cache had more than ${given} (EXECUTOR_CACHE_BYTES)`;
  }
};
