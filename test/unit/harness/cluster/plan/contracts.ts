export const CONTRACTS = {
  token: '0x01',
  postageStamp: '0x02',
  postagePriceOracle: '0x03',
  stakeRegistry: '0x04',
  redistribution: '0x05',
  chequebookFactory: '0x06',
  swapPriceOracle: '0x07',
};
