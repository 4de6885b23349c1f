/** Names that never belong to a public host: RFC 6761, 6762, 8375, 9476, Kubernetes, and metadata services of clouds. */
const PRIVATE_NAMES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'svc',
  'cluster.local',
  'home.arpa',
  'metadata.goog',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'api.metadata.cloud.ibm.com',
];
const LABEL = /^[a-z\d-]{1,63}$/;
const MAX_NAME = 253;

/** A host name in one spelling: lower case, without a dot at the end. */
export const canonicalName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** The reason why a canonical name cannot be public, to follow "the host name x"; undefined if it can. */
export const whyNamePrivate = (name: string): string | undefined => {
  const labels = name.split('.');
  if (name.length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (!labels.every((label) => LABEL.test(label)))
    return 'has a label that is not 1 to 63 letters, digits and hyphens';
  if (labels.length < 2) return 'has only one label, and a public name has two or more';
  if (/^\d+$/.test(labels.at(-1) ?? '')) return 'ends in a number';
  const zone = PRIVATE_NAMES.find((zone) => name === zone || name.endsWith(`.${zone}`));
  if (zone === undefined) return undefined;
  return name === zone ? 'is not public' : `is under ${zone}, which is not public`;
};
