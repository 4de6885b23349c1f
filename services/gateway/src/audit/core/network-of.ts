const IPV4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/;
const GROUPS = 8;
const OF_NETWORK = 4;

/** The network of an address: the first 24 bits of an IPv4 address, the first 64 of an IPv6 address. */
export const networkOf = (address: string | undefined): string => {
  if (address === undefined) return 'unknown';
  const [, prefix] = IPV4.exec(address) ?? [];
  if (prefix !== undefined) return `${prefix}.0/24`;
  const [before = '', after] = address.split('::');
  const [head, tail] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : Math.max(0, GROUPS - head.length - tail.length);
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  return `${all.slice(0, OF_NETWORK).join(':')}::/64`;
};

const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
