import { invalid, type Invalid } from './problem.ts';

const LOC = ['body', 'webhook'];
// oxlint-disable-next-line no-control-regex -- these are what must not be in a URL
const FORBIDDEN = /[\u0000-\u0020\u007f\\]/;

/** What is wrong with a callback address by its form alone; undefined when nothing is. */
export const webhookProblem = (text: string, maxLength: number): Invalid | undefined => {
  if (text.length > maxLength) {
    return invalid(LOC, 'url_too_long', `URL should have at most ${maxLength} characters`);
  }
  if (FORBIDDEN.test(text)) {
    return invalid(
      LOC,
      'url_parsing',
      'Input should be a valid URL, without spaces, control characters and backslashes',
    );
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    return invalid(LOC, 'url_parsing', 'Input should be a valid URL, relative URL without a base');
  }
  if (scheme !== 'http' && scheme !== 'https') {
    return invalid(LOC, 'url_scheme', "URL scheme should be 'http' or 'https'");
  }
  const url = /^https?:\/\/[^/?#]/i.test(text) ? URL.parse(text) : null;
  if (!url || url.hostname === '') {
    return invalid(LOC, 'url_parsing', 'Input should be a valid URL, with a host behind http:// or https://');
  }
  if (url.username !== '' || url.password !== '') {
    return invalid(LOC, 'value_error', 'Value error, the URL may not hold a user name or password');
  }
  if (text.includes('#')) return invalid(LOC, 'value_error', 'Value error, the URL may not have a fragment');
  return undefined;
};
