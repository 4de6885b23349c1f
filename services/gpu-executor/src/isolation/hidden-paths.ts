import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin, realPath, realPaths } from '../view/real-paths.ts';

/** Programs and libraries of the system. Everything else is hidden: homes, data, other programs' folders. */
const SYSTEM_FOLDERS = [
  '/bin',
  '/gnu',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix',
  '/opt',
  '/sbin',
  '/sys',
  '/usr',
];
/** Of the settings of the system, those that programs and libraries read on every machine. None has a secret. */
const SYSTEM_SETTINGS = [
  'ImageMagick-6',
  'ImageMagick-7',
  'OpenCL',
  'R',
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'gai.conf',
  'glvnd',
  'group',
  'host.conf',
  'hostname',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'ld.so.preload',
  'libibverbs.d',
  'libnl-3',
  'locale.alias',
  'locale.conf',
  'localtime',
  'magic',
  'mime.types',
  'networks',
  'nsswitch.conf',
  'nvidia',
  'openmpi',
  'os-release',
  'passwd',
  'perl',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'protocols',
  'python3',
  'resolv.conf',
  'rpc',
  'services',
  'shells',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
  'vulkan',
].map((name) => join('/etc', name));

/** Those that this machine has, and what they point to, such as the resolv.conf of systemd, or a disk of its own for /opt. */
export const systemPaths = (): readonly string[] => {
  const found = [...SYSTEM_FOLDERS, ...SYSTEM_SETTINGS].filter((path) => realPath(path) !== null);
  return [...found, ...new Set(realPaths(found).filter((path) => !isWithin(found, path)))];
};

/** Whether programs see what is at a real path because it is of the system. */
export const isOfSystem = (path: string, hidden: readonly string[]): boolean =>
  isWithin(systemPaths(), path) && !isWithin(hidden, path);

/**
 * The paths that together are everything below `paths` but the hidden ones. For what can allow, and cannot forbid.
 */
export const pathsWithout = (paths: readonly string[], hidden: readonly string[]): readonly string[] =>
  paths.flatMap((path) => {
    const real = realPath(path);
    // What a process sees there is its own.
    if (real === null || isWithin([...hidden, '/proc'], real)) return [];
    if (!hidden.some((each) => isWithin([real], each))) return [real];
    return pathsWithout(
      readdirSync(real).map((name) => join(real, name)),
      hidden,
    );
  });
