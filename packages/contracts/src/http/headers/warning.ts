/**
 * Of a response: a sentence for a name in the request that the operation does not know, and ignored, such as `unknown body member "inptus"; did you mean
 * "inputs"?`. Once for each name, at most eight times. Names are percent-encoded where they have other characters than letters, digits and a few marks.
 */
export const WARNING_HEADER = 'Runledger-Warning';
