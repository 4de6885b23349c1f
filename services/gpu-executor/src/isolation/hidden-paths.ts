import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

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
/** Where systemd keeps what /etc/resolv.conf is. */
const RESOLVER = '/etc/resolv.conf';

/** Those that this machine has, and what they point to. */
export const systemPaths = (): readonly string[] => {
  const resolver = realPath(RESOLVER);
  const found = [...SYSTEM_FOLDERS, ...SYSTEM_SETTINGS].filter((path) => realPath(path) !== null);
  return resolver === null || isWithin(found, resolver) ? found : [...found, resolver];
};

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

/** Whether the path is one of these, or below one. */
export const isWithin = (folders: readonly string[], path: string): boolean =>
  folders.some((folder) => path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`));

/** The highest folder above the path that only its owner or its group may enter; null when everybody reaches the path. */
export const closedFolderAbove = (path: string): string | null => {
  const above = dirname(path);
  if (above === path) return null;
  return closedFolderAbove(above) ?? ((lstatSync(above).mode & 0o001) === 0 ? above : null);
};

/** Of those that exist. Landlock knows files, not the links to them. */
export const realPaths = (paths: readonly string[]): readonly string[] =>
  paths.map(realPath).filter((path) => path !== null);

/** Null when there is nothing, or it may not be looked at. */
export const realPath = (path: string): string | null => {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
};
